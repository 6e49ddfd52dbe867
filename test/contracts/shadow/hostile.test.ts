import { describe, expect, it } from 'vitest';
import { looksLikeName } from '../../../gateway/contracts/shadow/compare/paths.ts';
import { addedUp, assessed, collect, contract, json, pairOf, raw } from './pairs.ts';

const any = contract(undefined);
const pathsOf = (old: unknown, now: unknown = old, contracts = [any, any] as const): string[] => [
  ...new Set(collect(...contracts, [pairOf(json(old), json(now))]).map(({ path }) => path)),
];

describe('hostile bodies', () => {
  it.each([
    ['half a document', '{"a":'],
    ['no JSON at all', '<html>'],
    ['a single word', 'undefined'],
    ['NaN', '{"a":NaN}'],
    ['a trailing comma', '[1,]'],
    ['a lone quote', '"'],
  ])('are reported as a syntax error: %s', (_name, text) => {
    expect(assessed(any, any, [pairOf(json({}), raw(text))]).alarms).toEqual(['syntax']);
    expect(assessed(any, any, [pairOf(raw(text), json({}))]).alarms).toEqual([]);
    expect(assessed(any, any, [pairOf(raw(text), raw(text))]).alarms).toEqual([]);
  });

  it('that are not UTF-8 are a syntax error, and a byte order mark is none', () => {
    const latin = { status: 200, contentType: 'application/json', body: Uint8Array.of(0x22, 0xe9, 0x22) };
    expect(assessed(any, any, [pairOf(json(''), latin)]).alarms).toEqual(['syntax']);
    expect(assessed(any, any, [pairOf(json({ a: 1 }), raw('\uFEFF{"a":1}'))]).alarms).toEqual([]);
  });

  it('that are nested deeply are not compared', () => {
    const deep = `${'['.repeat(130_000)}${']'.repeat(130_000)}`;
    const objects = `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`;
    for (const text of [deep, objects, '['.repeat(260_000)]) {
      const { alarms, skipped, compared } = assessed(any, any, [pairOf(raw(text), raw(text))]);
      expect([alarms, skipped, compared]).toEqual([[], [{ reason: 'too deep', pairs: 1 }], 0]);
    }
    const recursive = { schemas: { N: { type: 'object', properties: { n: { $ref: '#/components/schemas/N' } } } } };
    const nested = JSON.parse(`${'{"n":'.repeat(190)}{}${'}'.repeat(190)}`);
    const node = contract({ $ref: '#/components/schemas/N' }, recursive);
    expect(assessed(node, node, [pairOf(json(nested), json(nested))]).alarms).toEqual([]);
  });

  it('of 256 KiB take a bounded number of rows, whatever their keys are', () => {
    const wide = Object.fromEntries(Array.from({ length: 12_000 }, (_one, index) => [`field_${letters(index)}`, 'x']));
    const tree = (depth: number): unknown =>
      depth === 0 ? 1 : Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((key) => [key, tree(depth - 1)]));
    expect(JSON.stringify(wide).length).toBeGreaterThan(180_000);
    expect(pathsOf(wide).length).toBeLessThan(100);
    expect(pathsOf(tree(6)).length).toBeLessThan(600);
    const rows = addedUp(
      Array.from({ length: 30 }, (_one, round) =>
        collect(any, any, [pairOf(json({ [`only${letters(round)}`]: { x: 1 } }), json(tree(6)))]),
      ),
    );
    expect(rows.length).toBeLessThan(2_000);
  });

  it('say in the report that paths were left out', () => {
    const many = Array.from({ length: 60 }, (_one, index) => [
      `o${letters(index)}`,
      Object.fromEntries(Array.from({ length: 20 }, (_two, inner) => [`f${letters(inner)}`, 1])),
    ]);
    const body = Object.fromEntries(many);
    const rows = collect(any, any, [pairOf(json(body), json(body))]);
    expect(rows.find(({ what, detail }) => what === 'pair' && detail === 'more paths')?.pairs).toBe(1);
  });

  it('may have a field __proto__, constructor or toString', () => {
    const text = '{"__proto__":{"polluted":1},"constructor":1,"toString":2,"hasOwnProperty":3}';
    const rows = collect(any, any, [pairOf(raw(text), raw('{"toString":"x"}'))]);
    expect(rows.map(({ path }) => path)).toContain('/constructor');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    const schema = {
      type: 'object',
      required: ['constructor', 'toString'],
      properties: { constructor: { type: 'string' } },
    };
    const strict = contract(schema);
    expect(assessed(strict, strict, [pairOf(json({ constructor: 'x', toString: 1 }), json({}))]).alarms).toEqual([
      '/constructor required',
      '/toString required',
    ]);
  });

  it('may repeat a key: the last value counts, as for every client of JSON.parse', () => {
    expect(
      assessed(
        any,
        any,
        Array.from({ length: 30 }, () => pairOf(raw('{"a":1,"a":"x"}'), raw('{"a":"x"}'))),
      ).alarms,
    ).toEqual([]);
  });

  it('may have huge numbers', () => {
    const numbers = contract({ type: 'object', properties: { n: { type: 'number' } } });
    for (const text of ['{"n":12345678901234567890}', '{"n":1e999}', '{"n":-0}', `{"n":${'9'.repeat(10_000)}}`])
      expect(assessed(numbers, numbers, [pairOf(raw(text), raw(text))]).alarms).toEqual([]);
  });
});

describe('keys', () => {
  it.each([
    'ada@example.com',
    '6f1b2c3d-0000-4000-8000-000000000000',
    '4711',
    '-1',
    'd41d8cd98f00b204e9800998ecf8427e',
    'deadbeef01',
    'user_12345',
    'cus_a1B2c3D4',
    '2026-01-01',
    '192.168.0.1',
    'fe80::1',
    'example.com',
    'Ada Lovelace',
    '🍸',
    'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.x',
    'x'.repeat(49),
    '',
    '__proto__secret1234',
  ])('that look like identifiers are not written down: %s', (key) => {
    expect(looksLikeName(key)).toBe(false);
    expect(pathsOf({ [key]: { inner: 1 } }).join(' ')).toBe(' /* /*/inner');
  });

  it.each([
    'name',
    'firstName',
    'first_name',
    'x-rate',
    '@type',
    '$ref',
    '_links',
    'dc:title',
    'line2',
    'utf8',
    '__proto__',
  ])('that look like names are written down: %s', (key) => expect(looksLikeName(key)).toBe(true));

  it('of maps are not written down, whatever they look like', () => {
    const map = { type: 'object', additionalProperties: { type: 'integer' } };
    const listed = {
      type: 'object',
      properties: { ada: { type: 'integer' } },
      additionalProperties: { type: 'integer' },
    };
    expect(pathsOf({ ada: 1, grace: 2 }, { ada: 1 }, [contract(map), contract(map)])).toEqual(['', '/*']);
    expect(pathsOf({ ada: 1, grace: 2 }, { ada: 1 }, [contract(listed), contract(listed)])).toEqual(['', '/ada', '/*']);
    const pattern = { type: 'object', patternProperties: { '^x-': { type: 'integer' } } };
    expect(pathsOf({ 'x-a': 1 }, { 'x-b': 2 }, [contract(pattern), contract(pattern)])).toEqual(['', '/*']);
  });

  it('that a contract lists are always written down', () => {
    const schema = { type: 'object', properties: { '2026': { type: 'integer' }, 'a/b~c': { type: 'string' } } };
    const listed = contract(schema);
    expect(pathsOf({ '2026': 1, 'a/b~c': 'x' }, undefined, [listed, listed])).toEqual(['', '/2026', '/a~1b~0c']);
  });

  it('and values are not in the evidence', () => {
    const secret = { token: 'marker-4f2a91c0', byUser: { 'marker-7788': 1 }, list: ['marker-x'], n: 424_242 };
    const enums = contract({
      type: 'object',
      properties: { token: { enum: ['a'] }, n: { type: 'string', pattern: '^x$' } },
    });
    const rows = collect(enums, enums, [
      pairOf(json(secret), json({ ...secret, token: 'marker-other' })),
      pairOf(json(secret, 200), raw('marker', 200, 'marker/9f8e7d6c5b4a marker')),
    ]);
    expect(rows.length).toBeGreaterThan(5);
    expect(JSON.stringify(rows)).not.toMatch(/marker|424242/);
  });
});

describe('contracts', () => {
  const body = { id: 1, name: 'x' };
  it.each([
    ['with a broken reference', { $ref: '#/components/schemas/Missing' }],
    ['with a reference to itself', { $ref: '#/components/schemas/Self' }],
    ['with an alternative that is broken', { oneOf: [{ $ref: '#/components/schemas/Missing' }, { type: 'object' }] }],
    ['with a broken field', { type: 'object', properties: { id: { $ref: '#/nowhere' } } }],
    [
      'with values that no validator accepts',
      { type: 'integer8', minimum: 'x', required: 'id', enum: [], pattern: '(' },
    ],
    ['that contain themselves', { $ref: '#/components/schemas/Node' }],
    ['that accept nothing', false],
    ['that accept anything', {}],
  ])('%s raise no alarm between equal bodies', (_name, schema) => {
    const schemas = {
      Self: { $ref: '#/components/schemas/Self' },
      Node: { allOf: [{ $ref: '#/components/schemas/Node' }, { anyOf: [{ $ref: '#/components/schemas/Node' }, {}] }] },
    };
    for (const openapi of ['3.0.3', '3.1.0']) {
      const one = contract(schema, { openapi, schemas });
      expect(assessed(one, one, [pairOf(json(body), json(body))]).alarms).toEqual([]);
      const lost = Array.from({ length: 30 }, () => pairOf(json(body), json({ id: 1 })));
      expect(assessed(one, one, lost).alarms.length).toBeGreaterThan(schema === false ? -1 : 0);
    }
  });
});

describe('paths that nobody listed', () => {
  const missing = (index: number, more: object = {}) =>
    pairOf(json({ error: 'x' }, 404), json({ error: 'x' }, 404), { template: `/${letters(index)}`, ...more });
  const found = (index: number) => pairOf(json({}), json({}), { template: `/real-${letters(index)}` });
  const namesOf = (old: Parameters<typeof collect>[0], pairs: ReturnType<typeof missing>[]) => {
    const rows = collect(old, any, pairs).filter(({ what }) => what === 'pair');
    const byRoute = Map.groupBy(rows, ({ route }) => route);
    return new Map([...byRoute].map(([route, own]) => [route, own.reduce((sum, row) => sum + row.pairs, 0)]));
  };
  const many = (count: number) => Array.from({ length: count }, (_one, index) => missing(index));

  it.each(['shadow', 'drift'] as const)('and that are not found share one name above a limit (%s)', (kind) => {
    const pairs = Array.from({ length: 1_000 }, (_one, index) => missing(index, { kind }));
    const names = namesOf(any, [...pairs, found(1), missing(2_000, { kind, method: 'HEAD' })]);
    expect([names.size, names.get('other'), names.get('GET /real-b')]).toEqual([52, 951, 1]);
    expect(names.get('GET /a')).toBe(1);
  });

  it('get at most half of the names of a version with many routes', () => {
    const names = namesOf(any, [...Array.from({ length: 200 }, (_one, index) => found(index)), ...many(1_000)]);
    expect([names.size, names.get('other')]).toEqual([401, 800]);
  });

  it('share one name above a limit, too, if they are found', () => {
    const names = namesOf(contract({}), [
      ...Array.from({ length: 1_100 }, (_one, index) => found(index)),
      missing(0, { template: '/drinks' }),
    ]);
    expect([names.size, names.get('other'), names.get('GET /drinks')]).toEqual([1_002, 100, 1]);
  });

  it('get their name when they are found, and keep it', () => {
    const later = [pairOf(json({}), json({}), { template: '/late' }), missing(0, { template: '/late' })];
    const names = namesOf(any, [...many(100), missing(0, { template: '/late' }), ...later]);
    expect([names.get('other'), names.get('GET /late')]).toEqual([51, 2]);
  });

  it('do not take the name of a route of the contract, or of one that only one version does not find', () => {
    const gone = pairOf(json({}), json({}, 404), { template: '/gone' });
    const names = namesOf(contract({}), [...many(100), missing(0, { template: '/drinks' }), gone]);
    expect([names.get('other'), names.get('GET /drinks'), names.get('GET /gone')]).toEqual([50, 1, 1]);
  });
});

function letters(index: number): string {
  const text = index.toString(26);
  return [...text].map((one) => String.fromCharCode(97 + Number.parseInt(one, 26))).join('');
}
