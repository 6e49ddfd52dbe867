import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseNames } from '../../gateway/config/names.ts';
import { ClientNames, nameClient } from '../../gateway/usage/clientNames.ts';
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

  it.each(['', '# no names yet\n', '{}'])('may be empty: %j', (text) => {
    expect(parseNames(text)).toEqual(new Map());
  });

  it.each([
    ['- a list', 'is not a map from clients to names'],
    ['just text', 'is not a map from clients to names'],
    ['{ a: [', 'is not YAML'],
    ['a: 1', 'has no text for the name of "a"'],
    ['a: " "', 'has no text for the name of "a"'],
    ['a: b\na: c', 'has the key "a" here for the second time'],
    ['a: *b', 'has an alias without an anchor'],
    ['['.repeat(20_000), 'is nested too deeply'],
    [`a: &a [x]\nb: &b [${'*a, '.repeat(1_000)}]\nc: [${'*b, '.repeat(1_000)}]`, 'has aliases that unfold'],
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

it('names the clients of the ledger', async () => {
  const file = join(temporaryFolder(), 'names.yaml');
  writeFileSync(file, '"x-client-id:shop": Ann');
  const { ledger, store } = openLedger({ names: file });
  ledger.add([row(), row({ client: 'other', version: 'v2' })]);
  expect(await readLedger(ledger).byClient('v1', 0)).toMatchObject([{ name: 'Ann' }]);
  expect((await readLedger(ledger).movement('v1', 'v2', noon)).map(({ name }) => name)).toEqual(['Ann', undefined]);
  ledger.configure({ store, retention: 1e10, names: undefined });
  expect(await readLedger(ledger).byClient('v1', 0)).toMatchObject([{ name: undefined }]);
});

it('matches a key by its tag, including a short tag of an earlier release', async () => {
  const file = join(temporaryFolder(), 'names.yaml');
  writeFileSync(file, '"x-api-key:#4f2a91c0": Ann\n"x-api-key:#4f2a91c07be05d3a": Ann, since');
  const { ledger } = openLedger({ names: file });
  const tags = ['#4f2a91c0', '#4f2a91c07be05d3a', '#4f2a91c0ffffffff'];
  ledger.add(tags.map((tag, n) => row({ client: `x-api-key:${tag}`, requests: 9 - n })));
  expect((await readLedger(ledger).byClient('v1', 0)).map(({ name }) => name)).toEqual([
    'Ann',
    'Ann, since',
    undefined,
  ]);
});

it('keeps the names when the file is removed, and reports it', () => {
  const file = join(temporaryFolder(), 'names.yaml');
  writeFileSync(file, 'a: Ann');
  const names = new ClientNames();
  names.read(file);
  rmSync(file);
  names.read(file);
  expect([names.nameOf('a'), names.problem]).toEqual(['Ann', `${file} cannot be read: there is no such file.`]);
});

function fileWith(text: string): string {
  const file = join(temporaryFolder(), 'names.yaml');
  writeFileSync(file, text);
  return file;
}

it('names a client, keeps comments and the mode, and leaves no other file', () => {
  const file = fileWith('# Partners\nk: Ann # by mail\n');
  chmodSync(file, 0o640);
  expect(nameClient(file, 'x-api-key:#4f', 'Bob', '')).toEqual({ kind: 'saved' });
  expect(readFileSync(file, 'utf8')).toBe('# Partners\nk: Ann # by mail\n"x-api-key:#4f": "Bob"\n');
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(readdirSync(join(file, '..'))).toEqual(['names.yaml']);
});

it('reports a name that changed in the meantime, and writes nothing', () => {
  const file = fileWith('k: Ann\n');
  expect(nameClient(file, 'k', 'Bob', '')).toEqual({ kind: 'conflict', name: 'Ann' });
  expect(nameClient(file, 'gone', 'Bob', 'Carl')).toEqual({ kind: 'conflict', name: '' });
  expect(nameClient(file, 'k', 'Ann', '')).toEqual({ kind: 'saved' });
  expect(readFileSync(file, 'utf8')).toBe('k: Ann\n');
});

it('follows a symbolic link, and keeps a hard link', () => {
  const file = fileWith('k: Ann\n');
  const [link, twin] = [join(file, '..', 'link.yaml'), join(file, '..', 'twin.yaml')];
  symlinkSync('names.yaml', link);
  nameClient(link, 'k', 'Bob', 'Ann');
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  linkSync(file, twin);
  nameClient(file, 'k', 'Carl', 'Bob');
  expect([file, link, twin].map((one) => readFileSync(one, 'utf8'))).toEqual(Array(3).fill('k: "Carl"\n'));
});

it.each([
  ['a list', '- k\n', 'it is not a map from clients to names'],
  ['an alias', 'k: &x Ann\nl: *x\n', 'its structure does not allow it'],
])('refuses %s', (_name, text, reason) => {
  const file = fileWith(text);
  expect(nameClient(file, 'k', 'Bob', text.startsWith('k') ? 'Ann' : '')).toEqual({ kind: 'refused', reason });
  expect(readFileSync(file, 'utf8')).toBe(text);
});

/** Whether the tests may mount file systems in their own namespace. */
function canMount(): boolean {
  try {
    execFileSync('unshare', ['-m', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe.runIf(canMount())('a file that is mounted', () => {
  /** Mounts `names.yaml` of one folder into another as a container does, and names a client there. */
  function nameMounted(readOnly: boolean): { readonly printed: string; readonly text: string } {
    const file = fileWith('# Partners\nk: Ann\n');
    const folder = join(file, '..', 'mounted');
    mkdirSync(folder);
    const there = join(folder, 'names.yaml');
    writeFileSync(there, '');
    const remount = readOnly ? `mount -o remount,bind,ro '${there}' &&` : '';
    const code = `import { nameClient } from './gateway/usage/clientNames.ts';
      try { console.log(JSON.stringify(nameClient(${JSON.stringify(there)}, 'k', 'Bob', 'Ann'))); }
      catch (error) { console.log(error.code); }`;
    const script = `mount --bind '${file}' '${there}' && ${remount} exec '${process.execPath}' --input-type=module -e "$CODE"`;
    const printed = execFileSync('unshare', ['-m', 'sh', '-c', script], { env: { ...process.env, CODE: code } });
    return { printed: printed.toString().trim(), text: readFileSync(file, 'utf8') };
  }

  it('is written in place', () => {
    expect(nameMounted(false)).toEqual({ printed: '{"kind":"saved"}', text: '# Partners\nk: "Bob"\n' });
  });

  it('is not changed if it is read-only', () => {
    expect(nameMounted(true)).toEqual({ printed: 'EROFS', text: '# Partners\nk: Ann\n' });
  });
});
