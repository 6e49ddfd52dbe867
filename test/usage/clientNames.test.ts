import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseNames } from '../../gateway/config/names.ts';
import { ClientNames } from '../../gateway/usage/clientNames.ts';
import { temporaryFolder } from '../config/temporary.ts';
import { readLedger } from '../support/readLedger.ts';
import { openLedger } from './ledger/ledgerFixture.ts';
import { noon, row } from './model.ts';

describe('a file of names', () => {
  it.each([
    ['YAML', '"x-api-key:#4f2a91c0": Ann’s shop\nuser-agent:curl: somebody\n'],
    ['JSON', '{"x-api-key:#4f2a91c0":"Ann’s shop","user-agent:curl":"somebody"}'],
  ])('may be %s', (_name, text) => {
    expect(parseNames(text)).toEqual(
      new Map([
        ['x-api-key:#4f2a91c0', 'Ann’s shop'],
        ['user-agent:curl', 'somebody'],
      ]),
    );
  });

  it.each(['', '# nobody yet\n', '{}'])('may be empty: %j', (text) => {
    expect(parseNames(text)).toEqual(new Map());
  });

  it.each([
    ['- a list', 'is not a map from clients to names'],
    ['just text', 'is not a map from clients to names'],
    ['{ a: [', 'is not YAML'],
    ['a: 1', 'has no text for the name of "a"'],
    ['a: " "', 'has no text for the name of "a"'],
    ['['.repeat(20_000), 'is not YAML'],
    [`a: &a [x]\nb: &b [${'*a, '.repeat(200)}]\nc: [${'*b, '.repeat(200)}]`, 'is nested or aliased too deeply'],
  ])('is refused: %.20j', (text, reason) => {
    expect(parseNames(text)).toContain(reason);
  });
});

it('keeps the names that were read before when the file is invalid', () => {
  const file = join(temporaryFolder(), 'names.yaml');
  writeFileSync(file, 'a: Ann');
  const names = new ClientNames();
  names.read(file);
  expect([names.nameOf('a'), names.nameOf('b'), names.problem]).toEqual(['Ann', undefined, undefined]);
  writeFileSync(file, '- broken');
  names.read(file);
  expect([names.nameOf('a'), names.problem]).toEqual(['Ann', `${file} is not a map from clients to names.`]);
  writeFileSync(file, 'a: Bob');
  names.read(file);
  expect([names.nameOf('a'), names.problem]).toEqual(['Bob', undefined]);
});

it('names the clients of the ledger', () => {
  const file = join(temporaryFolder(), 'names.yaml');
  writeFileSync(file, '"x-client-id:shop": Ann');
  const { ledger, store } = openLedger({ names: file });
  ledger.add([row(), row({ client: 'other', version: 'v2' })]);
  expect(readLedger(ledger).byClient('v1', 0)).toMatchObject([{ name: 'Ann' }]);
  expect(
    readLedger(ledger)
      .movement('v1', 'v2', noon)
      .map(({ name }) => name),
  ).toEqual(['Ann', undefined]);
  ledger.configure({ store, retention: 1e10, names: undefined });
  expect(readLedger(ledger).byClient('v1', 0)).toMatchObject([{ name: undefined }]);
});

it('matches a key by its tag, including a short tag of an earlier release', () => {
  const file = join(temporaryFolder(), 'names.yaml');
  writeFileSync(file, '"x-api-key:#4f2a91c0": Ann\n"x-api-key:#4f2a91c07be05d3a": Ann, since');
  const { ledger } = openLedger({ names: file });
  const tags = ['#4f2a91c0', '#4f2a91c07be05d3a', '#4f2a91c0ffffffff'];
  ledger.add(tags.map((tag, n) => row({ client: `x-api-key:${tag}`, requests: 9 - n })));
  expect(
    readLedger(ledger)
      .byClient('v1', 0)
      .map(({ name }) => name),
  ).toEqual(['Ann', 'Ann, since', undefined]);
});

it('may be missing', () => {
  const file = join(temporaryFolder(), 'names.yaml');
  writeFileSync(file, 'a: Ann');
  const names = new ClientNames();
  names.read(file);
  rmSync(file);
  names.read(file);
  expect([names.nameOf('a'), names.problem]).toEqual(['Ann', `${file} cannot be read: there is no such file.`]);
});
