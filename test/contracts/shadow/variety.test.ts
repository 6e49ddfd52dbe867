import { describe, expect, it } from 'vitest';
import type { ComparedResponse } from '../../../gateway/contracts/shadow/compare/sample.ts';
import { randomFrom } from '../../support/random.ts';
import { assessed, type ContractOptions, contract, type JsonSchema, json, jsonResponse, pairOf, raw } from './pairs.ts';

const text = { type: 'string' };
const number = { type: 'number' };
const integer = { type: 'integer' };
const list = (items: unknown) => ({ type: 'array', items });
const mapOf = (value: unknown) => ({ type: 'object', additionalProperties: value });
const object = (properties: Record<string, unknown>, required = Object.keys(properties)) => {
  return { type: 'object', properties, required };
};
const format = (name: string) => object({ f: { type: 'string', format: name } });
const drink = object({ id: integer, name: text, price: text, tags: list(text) }, ['id', 'name']);
const body = { id: 1, name: 'n', price: '9.50', tags: ['a'] };
const page = object({ items: list(drink), next: text, total: integer }, ['items']);
const error = object({ error: text });
const problem = object({ title: text, status: integer }, ['title']);
const withError = (schema: JsonSchema) => ({ responses: { 200: jsonResponse(drink), 404: jsonResponse(schema) } });
const noContent = { responses: { 204: { description: '' } } };

type Row = readonly [
  name: string,
  schemas: JsonSchema | undefined | readonly [JsonSchema | undefined, JsonSchema | undefined],
  before: unknown,
  after: unknown,
  /** The start of `CLASS PATH WHAT`; '': no difference. */
  expected: string,
  options?: readonly [ContractOptions, ContractOptions],
];

const responses: readonly Row[] = [
  // Statuses and media types.
  ['204 instead of a body', drink, body, raw('', 204), 'undeclared  status 200 → 204'],
  ['204, declared', drink, body, raw('', 204), 'declared  status 200 → 204', [{}, noContent]],
  ['{} instead of 204', {}, raw('', 204), {}, 'undeclared  status 204 → 200', [noContent, noContent]],
  ['null instead of 404', drink, json({ e: 1 }, 404), null, 'undeclared  status 404 → 200'],
  ['an empty list instead of 404', list(drink), json({ e: 1 }, 404), [], 'undeclared  status 404 → 200'],
  ['410 instead of 404', drink, json({ e: 1 }, 404), json({ e: 1 }, 410), 'undeclared  status 404 → 410'],
  ['201 instead of 200', drink, body, json(body, 201), 'undeclared  status 200 → 201'],
  ['a redirect', drink, body, raw('', 302), 'undeclared  status 200 → 302'],
  ['401 with credentials', drink, body, json({}, 401), 'undeclared  status 200 → 401'],
  ['HTML', drink, body, raw('<p>', 200, 'text/html'), 'undeclared  media application/json → text/html'],
  ['a charset', drink, body, raw(JSON.stringify(body), 200, 'application/json; charset=utf-8'), ''],
  ['a profile of JSON', drink, body, raw(JSON.stringify(body), 200, 'application/hal+json'), 'undeclared  media'],
  ['lines of JSON', drink, body, raw('{}\n{}', 200, 'application/x-ndjson'), 'undeclared  media'],
  ['no body', drink, body, raw(''), 'undeclared  syntax'],
  ['a prefix against inclusion', drink, body, raw(`)]}'\n${JSON.stringify(body)}`), 'undeclared  syntax'],
  ['JSON in a text', drink, body, json(JSON.stringify(body)), 'undeclared  type object → string'],
  // Bodies of errors.
  [
    'another error, not declared',
    drink,
    json({ error: 'x' }, 404),
    json({ title: 'x' }, 404),
    'undeclared /error required',
    [withError(error), withError(error)],
  ],
  [
    'another error, declared',
    drink,
    json({ error: 'x' }, 404),
    json({ title: 'x' }, 404),
    'declared /error required',
    [withError(error), withError(problem)],
  ],
  [
    'another error without a schema',
    drink,
    json({ error: 'x' }, 404),
    json({ message: 'x' }, 404),
    'undeclared /error absent',
  ],
  [
    'an object in an error',
    drink,
    json({ error: 'x' }, 404),
    json({ error: { code: 1 } }, 404),
    'undeclared /error type',
  ],
  ['an error as a text', drink, json({ error: 'x' }, 404), raw('x', 404, 'text/plain'), 'undeclared  media'],
  // Envelopes and pages.
  ['an envelope', drink, body, { data: body }, 'undeclared /id required'],
  [
    'an envelope around a list, declared',
    [list(drink), object({ items: list(drink) })],
    [body],
    { items: [body] },
    'declared  type array → object',
  ],
  ['no envelope', object({ data: drink }), { data: body }, body, 'undeclared /data required'],
  ['a list of one', drink, body, [body], 'undeclared  type object → array'],
  [
    'a cursor instead of a link',
    page,
    { items: [], next: '/a' },
    { items: [], cursor: 'b' },
    'undeclared /next absent',
  ],
  ['no total', page, { items: [], total: 1 }, { items: [] }, 'undeclared /total absent'],
  [
    'a total as a text',
    page,
    { items: [], total: 1 },
    { items: [], total: '1' },
    'undeclared /total type number → string',
  ],
  ['no next page as null', page, { items: [], next: 'x' }, { items: [], next: null }, 'undeclared /next null'],
  ['smaller pages', page, { items: Array(50).fill(body) }, { items: Array(20).fill(body) }, ''],
  // Names, nesting, maps.
  [
    'another case of a name',
    object({ created_at: text }, []),
    { created_at: 'x' },
    { createdAt: 'x' },
    'undeclared /created_at absent',
  ],
  [
    'another case without contracts',
    undefined,
    { created_at: 'x' },
    { createdAt: 'x' },
    'undeclared /created_at absent',
  ],
  ['items of nested lists', object({ m: list(list(number)) }), { m: [[1]] }, { m: [['1']] }, 'undeclared /m/*/* type'],
  ['a flat list', undefined, { m: [[1]] }, { m: [1] }, 'undeclared /m/* type array → number'],
  [
    'a list instead of a map',
    object({ m: mapOf(number) }),
    { m: { k1: 1 } },
    { m: [{ key: 'k1' }] },
    'undeclared /m type object → array',
  ],
  [
    'values of a map with identifiers',
    undefined,
    { m: { 1007: 1 } },
    { m: { 1007: '1' } },
    'undeclared /m/* type number → string',
  ],
  [
    'fields of an unlisted map',
    drink,
    { ...body, m: { 'u-1007': { x: 1, y: 1 } } },
    { ...body, m: { 'u-1007': { x: 1 } } },
    'undeclared /m/*/y absent',
  ],
  ['another order', drink, body, Object.fromEntries(Object.entries(body).toReversed()), ''],
  ['another order of items', list(text), ['a', 'b'], ['b', 'a'], ''],
  ['an unlisted field', drink, body, { ...body, extra: 1 }, ''],
  // Null, empty, absent.
  [
    'no list instead of an empty one',
    object({ a: text, l: list(text) }, ['a']),
    { a: 'x', l: [] },
    { a: 'x' },
    'undeclared /l absent',
  ],
  ['a map instead of an empty list', undefined, { l: [] }, { l: {} }, 'undeclared /l type array → object'],
  ['null instead of an empty list', object({ l: list(text) }), { l: [] }, { l: null }, 'undeclared /l null'],
  ['null in a list', object({ l: list(text) }), { l: ['a'] }, { l: ['a', null] }, 'undeclared /l/* null'],
  ['null instead of nothing', object({ n: { type: ['string', 'null'] } }, []), {}, { n: null }, ''],
  ['nothing instead of null', object({ n: { type: ['string', 'null'] } }, []), { n: null }, {}, ''],
  [
    'nothing instead of a required null',
    object({ n: { type: ['string', 'null'] } }),
    { n: null },
    {},
    'undeclared /n required',
  ],
  // Numbers, dates, enums.
  [
    'cents as a fraction, declared',
    [object({ f: integer }), object({ f: number })],
    { f: 950 },
    { f: 9.5 },
    'declared /f type',
  ],
  [
    'a large number as a text',
    object({ f: integer }),
    raw('{"f":9007199254740993}'),
    { f: '9007199254740993' },
    'undeclared /f type number → string',
  ],
  [
    'a declared change that did not happen',
    [object({ f: text }), object({ f: integer })],
    { f: '1' },
    { f: '1' },
    'undeclared /f type',
  ],
  ...[
    '2026-01-01',
    '2026-01-01 00:00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00+0100',
    'Thu, 01 Jan 2026 00:00:00 GMT',
  ].map(
    (f): Row => [
      `the time ${f}`,
      format('date-time'),
      { f: '2026-01-01T00:00:00Z' },
      { f },
      'undeclared /f format date-time',
    ],
  ),
  ['an offset', format('date-time'), { f: '2026-01-01T00:00:00Z' }, { f: '2026-01-01t01:00:00.123+01:00' }, ''],
  ['a German date', format('date'), { f: '2026-01-01' }, { f: '01.01.2026' }, 'undeclared /f format date'],
  ['a relative address', format('uri'), { f: 'https://a.example/b' }, { f: '/b' }, 'undeclared /f format uri'],
  ['a value of an enum in a list', list({ enum: ['a', 'b'] }), ['a', 'b'], ['a', 'z'], 'undeclared /* enum'],
  ['only the new version has a contract', [undefined, drink], body, { ...body, id: 'x' }, 'undeclared /id type'],
  ['only the old version has a contract', [drink, undefined], body, { ...body, id: 'x' }, 'undeclared /id type'],
];

it.each(responses.map((row) => [row[0], row] as const))('finds in the responses: %s', (_name, row) => {
  const [, schemas, before, after, expected, options = [{}, {}]] = row;
  const [old, now] = Array.isArray(schemas) ? schemas : [schemas, schemas];
  const response = (value: unknown): ComparedResponse =>
    typeof value === 'object' && value !== null && 'contentType' in value ? (value as ComparedResponse) : json(value);
  const pairs = Array.from({ length: 30 }, () => pairOf(response(before), response(after)));
  const { differences } = assessed(contract(old, options[0]), contract(now, options[1]), pairs);
  const found = differences
    .filter((one) => one.class === 'undeclared' || one.class === 'declared')
    .map(({ class: name, path, what, detail }) => `${name} ${path} ${what} ${detail}`);
  if (expected === '') expect(found).toEqual([]);
  else
    expect(
      found.some((line) => line.startsWith(expected)),
      found.join(', '),
    ).toBe(true);
});

describe('responses of the same version', () => {
  type Dice = () => number;
  const some = <Value>(random: Dice, value: Value): Value | undefined => (random() < 0.2 ? undefined : value);
  const oneOf = <Value>(random: Dice, values: readonly Value[]) => values[Math.floor(random() * values.length)];
  const letters = (random: Dice, alphabet: string, length: number) =>
    Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
  const small = 'abcdefghijklmnopqrstuvwxyz';
  const word = (random: Dice) => letters(random, small, 6);
  const hex = (random: Dice, length: number) => letters(random, '0123456789abcdef', length);
  const keys: Readonly<Record<string, (random: Dice) => string | undefined>> = {
    uuid: (random) => `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-8${hex(random, 3)}-${hex(random, 12)}`,
    number: (random) => String(Math.floor(random() * 1e9)),
    hex: (random) => hex(random, 24),
    slug: (random) => `${word(random)}-${word(random)}`,
    word,
    email: (random) => `${word(random)}@${word(random)}.example`,
    date: (random) => `20${10 + Math.floor(random() * 20)}-0${1 + Math.floor(random() * 9)}-11`,
    base64: (random) => letters(random, `${small}${small.toUpperCase()}0123456789-_`, 21),
    locale: (random) => oneOf(random, ['de', 'en', 'de-AT', 'en_US']),
  };
  const someKeys = (random: Dice, key: (random: Dice) => string | undefined, value: () => unknown) =>
    Object.fromEntries(Array.from({ length: Math.floor(random() * 4) }, () => [key(random), value()]));
  const node = (random: Dice, depth: number): object => ({
    v: some(random, 1),
    c:
      depth > 2
        ? undefined
        : some(
            random,
            Array.from({ length: Math.floor(random() * 3) }, () => node(random, depth + 1)),
          ),
  });
  const kinds = [
    object({ kind: { const: 'a' }, x: number, o: text }, ['kind', 'x']),
    object({ kind: { const: 'b' }, l: list(number) }, ['kind']),
  ];
  const varied: readonly [string, JsonSchema, (random: Dice, index: number) => unknown, ContractOptions?][] = [
    ...Object.entries(keys).flatMap(([name, key]): [string, JsonSchema, (random: Dice) => unknown][] => [
      [`keys: ${name}`, object({ m: mapOf(number) }, []), (random) => ({ m: someKeys(random, key, () => 1) })],
      [
        `unlisted keys: ${name}`,
        object({ a: text }, []),
        (random) => ({
          a: 'x',
          m: someKeys(random, key, () => ({ x: some(random, 1), y: oneOf(random, ['a', 1, null]) })),
        }),
      ],
    ]),
    [
      'alternatives',
      list({ oneOf: kinds }),
      (random) =>
        Array.from({ length: Math.floor(random() * 5) }, () =>
          random() < 0.5
            ? { kind: 'a', x: 1, o: some(random, 's') }
            : { kind: 'b', l: some(random, oneOf(random, [[], [1]])) },
        ),
    ],
    [
      'unions',
      object({ f: { type: ['string', 'number', 'null'] }, g: { anyOf: [text, list(text)] } }, []),
      (random) => ({
        f: some(random, oneOf(random, ['a', 1, null])),
        g: some(random, oneOf(random, ['a', [], ['a']])),
      }),
    ],
    [
      'lists that grow',
      object({ items: list(object({ id: integer, a: text }, ['id'])) }),
      (random, index) => ({
        items: Array.from({ length: index / 10 + random() * 3 }, (_one, id) => ({
          id,
          a: random() < 0.02 ? undefined : 'x',
        })),
      }),
    ],
    [
      'a recursive schema',
      { $ref: '#/components/schemas/Node' },
      (random) => node(random, 0),
      { schemas: { Node: object({ v: number, c: list({ $ref: '#/components/schemas/Node' }) }, []) } },
    ],
    [
      'violations at random',
      object({ p: integer, t: { type: 'string', format: 'date-time' }, e: { enum: ['x'] } }, ['p']),
      (random) => ({
        p: some(random, oneOf(random, [1, '1'])),
        t: oneOf(random, ['x', '2026-01-01T00:00:00Z']),
        e: oneOf(random, ['x', 'y']),
      }),
    ],
    ['anything', {}, (random) => oneOf(random, [[], {}, { a: 1 }, [1], 'x', 1, null, true])],
  ];

  it.each(varied)('raise no alarm with or without a contract: %s', (_name, schema, make, options) => {
    for (const one of [contract(schema, options), contract(undefined)]) {
      const random = randomFrom(17);
      const pairs = Array.from({ length: 300 }, (_one, index) =>
        pairOf(json(make(random, index)), json(make(random, index))),
      );
      const { alarms, declared } = assessed(one, one, pairs);
      expect([...alarms, ...declared]).toEqual([]);
    }
  });
});
