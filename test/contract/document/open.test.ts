import { execFileSync } from 'node:child_process';
import { mkdirSync, openSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { errorMessage, open, write } from './openContract.ts';

const head = 'openapi: 3.1.0\ninfo: { title: Drinks, version: "1" }\n';
const utf16 = Buffer.from(`\uFEFF${head}`, 'utf16le');

describe('a contract is rejected', () => {
  const cases: [what: string, content: string | Uint8Array, said: string][] = [
    ['an empty file', '', 'x.yaml: is empty, not an OpenAPI document'],
    ['comments', '# nothing\n', 'x.yaml: contains only comments, not an OpenAPI document'],
    ['a list', '- a\n', 'x.yaml: is a list, not an OpenAPI document'],
    ['a text', 'hello\n', 'x.yaml: is a single value, not an OpenAPI document'],
    ['HTML', '<!DOCTYPE html><html></html>', 'x.yaml: is an HTML page, not an OpenAPI document'],
    ['Swagger', 'swagger: "2.0"\n', 'x.yaml: is Swagger 2.0, not OpenAPI 3'],
    ['AsyncAPI', 'asyncapi: 3.0.0\n', 'x.yaml: is an AsyncAPI document, not an OpenAPI document'],
    ['a JSON Schema', '{"$schema": "x"}', 'x.yaml: is a JSON Schema, not an OpenAPI document'],
    ['a later version', 'openapi: 4.0.0\n', 'x.yaml#/openapi: is OpenAPI 4.0.0, which is not supported'],
    ['a later minor', 'openapi: 3.30.0\n', 'x.yaml#/openapi: is OpenAPI 3.30.0, which is not supported'],
    ['an invalid version', 'openapi: []\n', 'x.yaml#/openapi: is OpenAPI without a version, which is not supported'],
    ['a part', 'paths: {}\n', 'x.yaml: has no `openapi` key: it is a part of a contract, not an OpenAPI document'],
    ['a duplicate key', `${head}paths:\n  /a: {}\n  /a: {}\n`, 'x.yaml:5:3: has the key "/a" here for the second time'],
    [
      'keys that only look different',
      `${head}paths:\n  200: {}\n  "200": {}\n`,
      'x.yaml:5:3: has the key "200" here for the second time',
    ],
    ['a key that is a map', `${head}? { a: b }\n: c\n`, 'x.yaml:3:3: has a key that is not a text'],
    ['a tag', `${head}paths: !include paths.yaml\n`, 'x.yaml:3:8: is not YAML: Unresolved tag'],
    ['two documents', `${head}---\nopenapi: 3.1.0\n`, 'x.yaml:3:1: has a second YAML document here'],
    ['an alias without an anchor', `${head}paths: *all\n`, 'x.yaml:3:8: has an alias without an anchor'],
    [
      'an alias of itself',
      `${head}paths: &all { /a: *all }\n`,
      'x.yaml:3:19: has an alias within its own anchor: *all',
    ],
    ['a merged text', `${head}paths:\n  <<: all\n`, 'x.yaml:4:3: has a merge key whose value is not a map'],
    [
      'a flow map without a colon',
      `${head}paths: { "/a": {}, "/b" {} }\n`,
      'x.yaml:3:25: is not YAML: Missing , or : between flow map items',
    ],
    ['a truncated flow map', `${head}paths: { /a: { get: `, 'x.yaml:3:21: is not YAML: '],
    ['a truncated text', `${head}paths: "/a`, 'x.yaml:3:11: is not YAML: '],
    [
      'truncated JSON',
      '{"openapi": "3.1.0",\n "paths": {',
      'x.yaml:2:12: is not JSON: a closing bracket is missing at the end',
    ],
    [
      'JSON cut off in a string',
      '{"openapi": "3.1',
      'x.yaml:1:17: is not JSON: the closing quote of a string is missing',
    ],
    [
      'JSON without a comma',
      '{"openapi": "3.1.0"\n "paths": {}}',
      'x.yaml:2:2: is not JSON: a comma or a closing bracket',
    ],
    [
      'bytes',
      Buffer.from([0x61, 0x0a, 0x62, 0xff, 0x0a]),
      'x.yaml: is not UTF-8: the first invalid bytes are in line 2',
    ],
    ['UTF-16', utf16, 'x.yaml: is UTF-16, not UTF-8'],
    ['UTF-16 without a mark', utf16.subarray(2), 'x.yaml: is UTF-16, not UTF-8'],
    ['big-endian UTF-16', Buffer.from(utf16).swap16(), 'x.yaml: is UTF-16, not UTF-8'],
  ];
  it.each(cases)('%s', async (_what, content, said) => {
    const folder = temporaryFolder();
    write(folder, { 'x.yaml': content });
    expect((await errorMessage(open('x.yaml', folder))).slice(0, said.length)).toBe(said);
  });

  it.each([
    ['JSON', '{"a":', '}', 200_000],
    ['JSON, just too deep', '{"a":', '}', 1001],
    ['lists of JSON', '[', ']', 200_000],
    ['YAML', '- ', '', 200_000],
    ['YAML in brackets', '[', ']', 200_000],
  ])('nested too deeply: %s', async (kind, opening, closing, times) => {
    const deep = `${opening.repeat(times)}1${closing.repeat(times)}`;
    const folder = temporaryFolder();
    const isJson = kind.includes('JSON');
    write(folder, { 'x.json': isJson ? `{"openapi":"3.1.0","x-deep":${deep}}` : `${head}x-deep:\n  ${deep}\n` });
    expect(await errorMessage(open('x.json', folder))).toMatch(/^x\.json:\d+:\d+: is nested too deeply to be read$/);
  });

  it('a billion laughs, of maps and of lists, without unfolding them', async () => {
    const folder = temporaryFolder();
    const level = (n: number, open: string, close: string): string =>
      `  l${n}: &l${n} ${open}${Array.from({ length: 9 }, (_, i) => `${open === '{' ? `k${i}: ` : ''}*l${n - 1}`).join(', ')}${close}`;
    for (const [open_, close] of ['[]', '{}'].map((pair) => [...pair] as [string, string])) {
      const lines = Array.from({ length: 30 }, (_, i) => level(i + 1, open_, close));
      write(folder, { 'x.yaml': `${head}x-laughs:\n  l0: &l0 lol\n${lines.join('\n')}\n` });
      const said = await errorMessage(open('x.yaml', folder));
      expect(said).toMatch(/^x\.yaml:\d+:\d+: has aliases that unfold to far more than the file itself$/);
    }
  });

  it('100 MB, without reading them', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'x.json'), '');
    truncateSync(join(folder, 'x.json'), 100 * 1024 * 1024);
    const before = process.memoryUsage().arrayBuffers;
    expect(await errorMessage(open('x.json', folder))).toBe('x.json: is 100.0 MiB long, but at most 64.0 MiB are read');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
    expect(await errorMessage(open('x.json', folder, { maxBytes: 1024 * 1024 }))).toContain('at most 1.0 MiB');
  });

  it('anything but a regular file', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'folder'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    expect(await errorMessage(open('folder', folder))).toBe('folder: is a folder, not a file');
    expect(await errorMessage(open('pipe', folder))).toBe('pipe: is a pipe, not a file');
    expect(await errorMessage(open('/dev/zero', folder))).toBe('/dev/zero: is a device, not a file');
    expect(await errorMessage(open('none.yaml', folder))).toBe('none.yaml: cannot be read: there is no such file');
    expect(await errorMessage(open('a\0b', folder))).toContain('cannot be read');
    expect(await errorMessage(open('https://example.com/x.yaml', folder))).toBe(
      'https://example.com/x.yaml: is on the web',
    );
  });

  it.skipIf(process.getuid?.() === 0)('a file that may not be read', async () => {
    const folder = temporaryFolder();
    openSync(join(folder, 'x.yaml'), 'w', 0o000);
    expect(await errorMessage(open('x.yaml', folder))).toBe('x.yaml: cannot be read: the permissions do not allow it');
  });
});

describe('a contract is read', () => {
  it.each([
    ['YAML', `${head}paths: {}\n`],
    ['YAML with a byte order mark and CRLF', `\uFEFF${head.replaceAll('\n', '\r\n')}paths: {}\r\n`],
    ['JSON, behind blanks', '\n {"openapi":"3.1.0","info":{"title":"Drinks","version":"1"},"paths":{}}'],
    ['JSON with a byte order mark', '\uFEFF{"openapi":"3.1.0","info":{"title":"Drinks","version":"1"},"paths":{}}'],
    ['YAML in braces', '{openapi: 3.1.0, info: {title: Drinks, version: "1"}, paths: {},}'],
  ])('%s, whatever the name of the file', async (_kind, text) => {
    const folder = temporaryFolder();
    const expected = { openapi: '3.1.0', info: { title: 'Drinks', version: '1' }, paths: {} };
    for (const name of ['x.json', 'x.yaml', 'contract']) {
      write(folder, { [name]: text });
      expect((await open(name, folder)).root.value).toEqual(expected);
    }
    const piped = await open('-', folder, { stdin: async () => text });
    expect(piped.root.value).toEqual(expected);
    expect(piped.root.place.file.text).toBe(text.replace('\uFEFF', ''));
  });

  it('from standard input, if it is neither empty nor too large', async () => {
    const folder = temporaryFolder();
    const said = (text: string): Promise<string> =>
      errorMessage(open('-', folder, { stdin: () => text, maxBytes: 2000 }));
    expect(await said('')).toBe('standard input: is empty, not an OpenAPI document');
    expect(await said('o\0p\0')).toBe('standard input: is not UTF-8');
    expect(await said('é'.repeat(1001))).toMatch(/^standard input: is .* long/);
    expect(await said(`${head}paths: [`)).toMatch(/^standard input:3:9: is not YAML/);
  });

  it.each([
    ['3.0', true],
    ['3.0.4', true],
    ['"3.0"', true],
    ['3.1', false],
    ['3.2.0', false],
  ])('OpenAPI %s', async (version, isOpenApi30) => {
    const folder = temporaryFolder();
    write(folder, { 'x.yaml': `openapi: ${version}\npaths: {}\n` });
    expect((await open('x.yaml', folder)).isOpenApi30).toBe(isOpenApi30);
  });

  it('with aliases, merged maps and keys that look like something else', async () => {
    const folder = temporaryFolder();
    const text = `${head}
x-shared: &shared { a: 1, b: 2 }
x-other: &other { b: 3, c: 4 }
x-used: { <<: [*shared, *other], a: 9 }
x-again: &shared { a: new }
x-last: [*shared, *shared]
x-keys: { 200: ok, 1.10: v, true: t, on: o, null: n, "": e, "<<": plain, __proto__: { polluted: true } }
`;
    write(folder, { 'x.yaml': text });
    const root = (await open('x.yaml', folder)).root.value as Record<string, Record<string, unknown>>;
    expect(root['x-used']).toEqual({ a: 9, b: 2, c: 4 });
    expect(root['x-last']).toEqual([{ a: 'new' }, { a: 'new' }]);
    const keys = root['x-keys'] ?? {};
    expect(Object.keys(keys).sort()).toEqual(['', '1.10', '200', '<<', '__proto__', 'null', 'on', 'true']);
    expect(keys['polluted']).toBeUndefined();
  });

  it('with an anchor that has hundreds of aliases', async () => {
    const folder = temporaryFolder();
    const uses = Array.from({ length: 800 }, (_, i) => `  p${i}: *error`).join('\n');
    write(folder, { 'x.yaml': `${head}x-error: &error { a: [1, 2, 3], b: { c: d } }\nx-uses:\n${uses}\n` });
    const root = (await open('x.yaml', folder)).root.value as Record<string, Record<string, unknown>>;
    expect(root['x-uses']?.['p799']).toBe(root['x-error']);
  });
});
