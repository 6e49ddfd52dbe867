import { expect, it } from 'vitest';
import { readObject, readYaml } from '../../gateway/config/readDocument.ts';
import { editedValues, writtenValues } from '../../gateway/config/writtenValues.ts';

const env = { V2: 'http://user:password@127.0.0.1:2', TOKEN: 'token-of-the-environment' };

function undone(before: string, after: string): string[] {
  const [old, current] = [before, after].map((text) => writtenValues(readYaml(text, 'routes.yaml', '.', env).source));
  return old && current ? editedValues(old, current).map(({ undo }) => undo) : [];
}

it.each([
  ['a changed value', 'a: 1\nb: 2', 'a: 1\nb: 3', ['routes.yaml:2  b: write 2 instead of 3']],
  ['an added value', 'a: 1', 'a: 1\nb: x', ['routes.yaml:2  b: remove it (x)']],
  ['a removed value', 'a: 1\nb: x', 'a: 1', ['routes.yaml  b: write it again (x)']],
  ['an added map', 'a: 1', 'a: 1\nb:\n  c: 1\n  d: 2', ['routes.yaml:3  b: remove it (its entries)']],
  ['a removed map', 'a: 1\nb: { c: 1, d: 2 }', 'a: 1', ['routes.yaml  b: write it again (its former entries)']],
  ['a value that became a map', 'a: x', 'a: { b: x, c: y }', ['routes.yaml:1  a: write x instead of its entries']],
  ['a map that became a value', 'a: { b: x }', 'a: x', ['routes.yaml:1  a: write its former entries instead of x']],
  ['an entry of a list', 'a: [x, y]', 'a:\n  - x\n  - z', ['routes.yaml:3  a[1]: write y instead of z']],
  ['an emptied list', 'a: [x]', 'a: []', ['routes.yaml:1  a: write its former entries instead of []']],
  ['a value that became empty', 'a: x', 'a:', ['routes.yaml:1  a: write x instead of null']],
  ['another order and other comments', 'a: 1\nb: 2', '# A comment.\nb: 2\na: 1', []],
  [
    'a variable, as it is written',
    'a: $V2',
    'a: http://127.0.0.1:3',
    ['routes.yaml:1  a: write $V2 instead of http://127.0.0.1:3'],
  ],
  [
    'an anchor that several versions use',
    'd: &d { x: 1 }\nroutes: { /v1: *d }',
    'd: &d { x: 2 }\nroutes: { /v1: *d }',
    ['routes.yaml:1  d.x: write 1 instead of 2', 'routes.yaml:1  routes./v1.x: write 1 instead of 2'],
  ],
  [
    'a secret',
    'gateway: { admin_token: old-secret }',
    'gateway: { admin_token: new-secret }',
    ['routes.yaml:1  gateway.admin_token: write *** instead of ***'],
  ],
  [
    'a secret in quotes, with a variable',
    'gateway: { admin_token: x }',
    'gateway: { admin_token: "$TOKEN" }',
    ['routes.yaml:1  gateway.admin_token: write *** instead of ***'],
  ],
  [
    'the password of a URL',
    'fleet: { store: "postgres://u:pw@a/x" }',
    'fleet: { store: "postgres://u:pw@b/x" }',
    ['routes.yaml:1  fleet.store: write postgres://***@a/x instead of postgres://***@b/x'],
  ],
  [
    'a webhook',
    'notify: [{ url: "https://a.example/T0/secret" }]',
    'notify: [{ url: "https://b.example/T0/secret" }]',
    ['routes.yaml:1  notify[0].url: write *** instead of ***'],
  ],
  ['a value with line breaks', 'a: x', 'a: "x\\ny"', ['routes.yaml:1  a: write x instead of "x\\ny"']],
])('names %s', (_name, before, after, expected) => expect(undone(before, after)).toEqual(expected));

it('names the version of a value', () => {
  const [old, current] = [1, 2].map((x) =>
    writtenValues(readYaml(`routes:\n  /v1: { x: ${x} }\ngateway: { y: ${x} }`, 'f', '.', env).source),
  );
  expect(old && current && editedValues(old, current)).toMatchObject([
    { version: '/v1', section: 'routes', line: 2, before: '1', after: '2' },
    { version: undefined, section: 'gateway', line: 3, before: '1', after: '2' },
  ]);
});

it('knows no lines of a document that is an object', () => {
  const [old, current] = ['a', 'b'].map((upstream) =>
    writtenValues(readObject({ routes: { '/v1': upstream } }, '.', env).source),
  );
  expect(old && current && editedValues(old, current).map(({ undo }) => undo)).toEqual([
    'routes./v1: write a instead of b',
  ]);
});
