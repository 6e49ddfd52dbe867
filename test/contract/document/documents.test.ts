import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { below, pointerOf } from '../../../gateway/contract/document/located.ts';
import { routesOf } from '../../../gateway/contract/routes.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { drinkOf, errorMessage, open, referring, write } from './openContract.ts';

const schemas = 'Price: &price\n  type: number\n';

/** A working tree with a contract in `api/`, and a secret beside the tree. */
function tree(files: Readonly<Record<string, string>>): string {
  const outer = temporaryFolder();
  write(outer, { 'secret.yaml': 'type: string\n' });
  const folder = join(outer, 'tree');
  mkdirSync(join(folder, '.git'), { recursive: true });
  write(folder, files);
  return folder;
}

describe('a $ref leads to', () => {
  it.each([
    ['a part of a file', 'schemas.yaml#/Price', 'api/schemas.yaml', '/Price'],
    ['a whole file', './whole.json', 'api/whole.json', ''],
    ['a file in another folder', '../shared/money%20and%20more.yaml#/Price', 'shared/money and more.yaml', '/Price'],
    ['a file through other $refs', '../shared/chain.yaml#/a', 'api/whole.json', ''],
    ['itself', 'x.json#/info', 'api/x.json', '/info'],
    ['an anchor in another file', 'anchors.yaml#here', 'api/anchors.yaml', '/deep'],
    ['a link within the tree', 'link.yaml#/Price', 'api/link.yaml', '/Price'],
  ])('%s', async (_what, ref, name, pointer) => {
    const folder = tree({
      'api/x.json': referring(ref),
      'api/schemas.yaml': schemas,
      'api/whole.json': '{"type":"string"}',
      'api/anchors.yaml': 'deep: { $anchor: here, type: number }\n',
      'shared/money and more.yaml': schemas,
      'shared/chain.yaml': 'a: { $ref: "#/b" }\nb: { $ref: ../api/whole.json }\n',
    });
    symlinkSync('schemas.yaml', join(folder, 'api/link.yaml'));
    const { place } = drinkOf(await open('api/x.json', folder));
    expect([place.file.name, pointerOf(place)]).toEqual([name, pointer]);
  });

  it('one file, whichever name it is given', async () => {
    const folder = tree({ 'schemas.yaml': schemas });
    const absolute = join(folder, 'schemas.yaml');
    const files = ['./schemas.yaml', '../tree/schemas.yaml', absolute, pathToFileURL(absolute).href];
    write(folder, { 'all.yaml': files.map((file, i) => `r${i}: { $ref: "${file}#/Price" }`).join('\n') });
    write(folder, { 'x.json': referring('all.yaml') });
    const documents = await open('x.json', folder);
    const all = drinkOf(documents);
    const found = files.map((_file, i) => documents.resolve(below(all, `r${i}`)).place.file);
    expect(new Set(found).size).toBe(1);
    expect(found[0]?.name).toBe('schemas.yaml');
  });

  it('a path item in `components` or in another file', async () => {
    const folder = tree({ 'drinks.yaml': 'get: { responses: {} }\n' });
    const contract = {
      openapi: '3.1.0',
      paths: { '/a': { $ref: '#/components/pathItems/a' }, '/b': { $ref: 'drinks.yaml' } },
      components: { pathItems: { a: { get: {} } } },
    };
    write(folder, { 'x.json': JSON.stringify(contract) });
    expect([...routesOf(await open('x.json', folder)).keys()]).toEqual(['route GET /a', 'route GET /b']);
  });
});

describe('a $ref is rejected', () => {
  const drink = 'x.json#/components/schemas/Drink';
  const outside = 'lies outside the working tree of the contract';
  it.each([
    ['../secret.yaml', outside],
    ['%2e%2e/secret.yaml', outside],
    ['..%2Fsecret.yaml', outside],
    ['a/../../secret.yaml', outside],
    ['../none.yaml', outside],
    ['../tree-of-others/secret.yaml', outside],
    ['/etc/passwd', outside],
    ['file:///etc/passwd', outside],
    ['linked.yaml', outside],
    ['folder/secret.yaml', outside],
    ['none.yaml', 'cannot be read: there is no such file'],
    ['linked-nowhere.yaml', 'cannot be read: there is no such file'],
    ['round.yaml', 'cannot be read: it is a link to itself'],
    ['empty', 'is a folder, not a file'],
    ['a%00b.yaml', 'is not a valid path'],
    ['100%.yaml', 'is not a valid path'],
    ['file://elsewhere/x.yaml', 'is not a valid path'],
    ['urn:example:drink', 'has the scheme urn:, which is not supported'],
    ['blank.yaml', 'is empty'],
    ['page.html', 'is a single value, not a part of a contract'],
    ['#/info/title', 'is a single value, not a part of a contract'],
    ['http://127.0.0.1:1/x.yaml', 'is on the web, and is not fetched'],
    ['HTTPS://example.com/x.yaml', 'is on the web, and is not fetched'],
  ])('%s: it %s', async (ref, said) => {
    const folder = tree({
      'x.json': referring(ref),
      '../tree-of-others/secret.yaml': 'type: string\n',
      'blank.yaml': '# only a comment\n',
      'page.html': '<!doctype html><title>Sign in</title>\n',
    });
    mkdirSync(join(folder, 'empty'));
    symlinkSync('../secret.yaml', join(folder, 'linked.yaml'));
    symlinkSync('..', join(folder, 'folder'));
    symlinkSync('nowhere', join(folder, 'linked-nowhere.yaml'));
    symlinkSync('round.yaml', join(folder, 'round.yaml'));
    const documents = await open('x.json', folder);
    expect(await errorMessage(() => drinkOf(documents))).toBe(
      `${drink}: refers to ${JSON.stringify(ref)}, which ${said}`,
    );
  });

  it('outside the folder, if the contract is in no working tree or is read from standard input', async () => {
    const outer = temporaryFolder();
    write(outer, { 'api/x.json': referring('../schemas.yaml'), 'schemas.yaml': schemas });
    const file = await open('api/x.json', outer);
    expect(await errorMessage(() => drinkOf(file))).toContain(outside);
    const piped = await open('-', join(outer, 'api'), { stdin: () => referring('../schemas.yaml') });
    expect(await errorMessage(() => drinkOf(piped))).toContain(outside);
    const beside = await open('-', outer, { stdin: () => referring('schemas.yaml#/Price') });
    expect(drinkOf(beside).value).toEqual({ type: 'number' });
  });

  it('with the position of the syntax error in the other file', async () => {
    const folder = tree({ 'x.json': referring('y.yaml'), 'y.yaml': 'a: 1\na: 2\n' });
    const documents = await open('x.json', folder);
    expect(await errorMessage(() => drinkOf(documents))).toBe('y.yaml:2:1: has the key "a" here for the second time');
  });

  it.each([
    ['a circle', '#/b'],
    ['a circle through another file', 'y.json#/a'],
    ['itself', '#/a'],
  ])('that leads to %s', async (_what, ref) => {
    const round = {
      openapi: '3.1.0',
      components: { schemas: { Drink: { $ref: '#/a' } } },
      a: { $ref: ref },
      b: { $ref: '#/a' },
    };
    const folder = tree({ 'x.json': JSON.stringify(round), 'y.json': '{"a":{"$ref":"x.json#/b"}}' });
    const documents = await open('x.json', folder);
    expect(await errorMessage(() => drinkOf(documents))).toBe(`${drink}: is a circular $ref`);
  });
});
