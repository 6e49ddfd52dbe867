import { describe, expect, it } from 'vitest';
import type { AdaptedRoute } from '../../../../gateway/config/adapterSettings.ts';
import { parseConfig } from '../../../../gateway/config/load.ts';
import { unionOf } from '../../../../gateway/contracts/adapters/proof/branches.ts';
import { parseExact } from '../../../../gateway/contracts/adapters/serving/exactJson.ts';
import { AdaptationError, compileOperations } from '../../../../gateway/contracts/adapters/serving/transform.ts';

const contractOf = (name: string): string =>
  new URL(`../../../../services/${name}/contract/openapi.yaml`, import.meta.url).pathname;

/** Runs operations as routes.yaml has them on the text of a body. */
function run(operations: string, body: string): string {
  const text = `
routes:
  /v1:
    contract: ${contractOf('v1')}
    upstream: http://127.0.0.1:1
    adapter: { from: /v2, routes: { GET /health: { to: GET /health, response: { 200: ${operations} } } } }
  /v2: { upstream: "http://127.0.0.1:2", contract: ${contractOf('v2')} }
`;
  const { snapshot, faults } = parseConfig(text, 'routes.yaml');
  expect(faults).toEqual([]);
  const [route] = snapshot?.versions.get('v1')?.adapter?.routes ?? [];
  const adapt = compileOperations((route as AdaptedRoute).responses.get('200') ?? []);
  return JSON.stringify(adapt(parseExact(body)));
}

it.each([
  ['[{ rename: { b: x } }]', '{"a":1,"b":2,"c":3}', '{"a":1,"x":2,"c":3}'],
  ['[{ rename: { b: x } }]', '{"a":1}', '{"a":1}'],
  ['[{ rename: { b: x } }]', '{"x":9,"b":2}', '{"x":2}'],
  ['[{ rename: { a: b } }, { rename: { b: c } }]', '{"a":1}', '{"c":1}'],
  ['[{ rename: { a: c, b: a, c: b } }]', '{"a":1,"b":2}', '{"b":1,"a":2}'],
  // What follows a rename also applies to a field that has the new name already, as in one alternative of a choice.
  ['[{ rename: { a: b } }, { map: { b: { x: y, y: x } } }]', '{"a":"x"}', '{"b":"y"}'],
  ['[{ rename: { a: b } }, { map: { b: { x: y, y: x } } }]', '{"b":"x"}', '{"b":"y"}'],
  ['[{ rename: { a: b } }, { map: { b: { x: y, y: x } } }]', '{"b":"x","a":"y"}', '{"b":"x"}'],
  ['[{ rename: { a: b } }, { drop: b }]', '{"b":1,"c":2}', '{"c":2}'],
  ['[{ rename: { a: b } }, { rename: { b: c } }]', '{"b":1}', '{"c":1}'],
  ['[{ rename: { a: b } }, { wrap: b }, { rename: { b: c } }]', '{"c":1}', '{"c":1}'],
  ['[{ drop: [a, /b/c] }]', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3}}'],
  ['[{ drop: /b/c }]', '{"b":null}', '{"b":null}'],
  ['[{ move: { /b/c: a } }]', '{"b":null}', '{"b":null}'],
  ['[{ each: { a: [{ drop: b }] } }]', '{"a":[null]}', '{"a":[null]}'],
  ['[{ move: { /a/b: c } }]', '{"a":{"b":1}}', '{"a":{},"c":1}'],
  ['[{ move: { a: /b/c/d } }]', '{"a":1}', '{"b":{"c":{"d":1}}}'],
  ['[{ move: { a: /b/c } }]', '{"b":{"x":2},"a":1}', '{"b":{"x":2,"c":1}}'],
  ['[{ default: { a: 1 } }]', '{"a":null}', '{"a":null}'],
  ['[{ default: { a: { b: [1] } } }, { rename: { /a/b: c } }]', '{}', '{"a":{"c":[1]}}'],
  ['[{ default: { /a/b: 1 } }]', '{}', '{}'],
  ['[{ const: { a: 1 } }]', '{"a":2,"b":3}', '{"a":1,"b":3}'],
  ['[{ const: { "": none } }]', '[1]', '"none"'],
  ['[{ map: { a: { x: y, 1: 2, true: "no" } } }]', '{"a":1}', '{"a":2}'],
  ['[{ map: { a: { x: y } } }]', '{"a":null}', '{"a":null}'],
  ['[{ map: { a: { "null": none } } }]', '{"a":null}', '{"a":"none"}'],
  ['[{ map: { a: { "null": none } } }]', '{"a":"any"}', '{"a":"any"}'],
  ['[{ map: { a: { "null": none } } }]', '{"a":"null"}', '{"a":"null"}'],
  ['[{ map: { a: { 12345678901234567890: big } } }]', '{"a":12345678901234567890}', '{"a":"big"}'],
  ['[{ each: { a: [{ rename: { b: c } }] } }]', '{"a":[{"b":1},{"b":2}]}', '{"a":[{"c":1},{"c":2}]}'],
  ['[{ each: { a: [{ wrap: "" }] } }]', '{"a":{"x":1,"__proto__":2}}', '{"a":{"x":[1],"__proto__":[2]}}'],
  ['[{ each: { a: [{ drop: b }] } }]', '{"a":null}', '{"a":null}'],
  ['[{ wrap: a }]', '{"a":null}', '{"a":[null]}'],
  ['[{ head: a }]', '{"a":[1,2],"b":3}', '{"a":1,"b":3}'],
  ['[{ head: a }]', '{"a":[],"b":3}', '{"b":3}'],
])('%s turns %s into %s', (operations, before, after) => expect(run(operations, before)).toBe(after));

it.each([
  ['decimal_string(2)', '9.5', '"9.50"'],
  ['decimal_string(2)', '9', '"9.00"'],
  ['decimal_string(2)', '-0.001', '"0.00"'],
  ['decimal_string(2)', '1.005', '"1.01"'],
  ['decimal_string(2)', '-1.005', '"-1.01"'],
  ['decimal_string(0)', '9.5', '"10"'],
  ['decimal_string(2)', '1e21', '"1000000000000000000000.00"'],
  ['decimal_string(3)', '1.5e-3', '"0.002"'],
  ['decimal_string(1)', '12345678901234567890.25', '"12345678901234567890.3"'],
  ['decimal_string(1)', '"7.25"', '"7.3"'],
  ['number', '"9.50"', '9.50'],
  ['number', '"007.10"', '7.10'],
  ['number', '"12345678901234567890"', '12345678901234567890'],
  ['number', '9.50', '9.50'],
  ['integer', '"5.00"', '5'],
  ['integer', '5.0', '5'],
  ['integer', '"-0"', '0'],
  ['integer', '"12345678901234567890"', '12345678901234567890'],
  ['string', '9.50', '"9.50"'],
  ['string', '12345678901234567890', '"12345678901234567890"'],
  ['string', 'true', '"true"'],
  ['boolean', '"true"', 'true'],
  ['boolean', '"false"', 'false'],
  ['date', '"2026-06-30T23:30:00-02:00"', '"2026-07-01"'],
  ['date', '0', '"1970-01-01"'],
  ['date', '"2024-02-29T12:00:00Z"', '"2024-02-29"'],
  ['date', '"2016-12-31T23:59:60Z"', '"2016-12-31"'],
  ['date_time', '"2017-01-01T08:59:60.5+09:00"', '"2017-01-01T08:59:60.5+09:00"'],
  ['date_time', '"2026-06-30"', '"2026-06-30T00:00:00Z"'],
  ['date_time', '"2026-06-30T23:30:00-02:00"', '"2026-06-30T23:30:00-02:00"'],
  ['date_time', '1', '"1970-01-01T00:00:01Z"'],
  ['epoch_seconds', '"1970-01-01T00:00:01.900Z"', '1'],
  ['number', 'null', 'null'],
])('convert %s turns %s into %s', (to, before, after) =>
  expect(run(`[{ convert: { a: ${to} } }]`, `{"a":${before}}`)).toBe(`{"a":${after}}`),
);

const failures: [operations: string, body: string, pointer: string][] = [
  ['[{ map: { a: { x: y } } }]', '{"a":"z"}', '/a'],
  ['[{ map: { a: { x: y } } }]', '{"a":[]}', '/a'],
  ['[{ each: { a: [{ drop: b }] } }]', '{"a":5}', '/a'],
  [
    '[{ each: { /x~1y: [{ each: { b: [{ convert: { c: number } }] } }] } }]',
    '{"x/y":[{"b":{}},{"b":{"k":{"c":"z"}}}]}',
    '/x~1y/1/b/k/c',
  ],
  ['[{ move: { a: /b/c } }]', '{"a":1,"b":"text"}', '/b'],
  ['[{ move: { /a/b/c: d } }]', '{"a":{"b":[1]}}', '/a/b'],
  ['[{ move: { /a/b/c: d } }]', '{"a":"text"}', '/a'],
  ['[{ drop: /b/c }]', '{"b":[1]}', '/b'],
  ['[{ default: { /b/c: 1 } }]', '{"b":5}', '/b'],
  ['[{ each: { a: [{ drop: b }] } }]', '{"a":[{},5]}', '/a/1'],
  ...['[1]', '[{"a":1}]', '"text"', '5', '9.50', 'false', 'null'].flatMap((value) =>
    [
      '[{ rename: { a: b } }]',
      '[{ drop: a }]',
      '[{ default: { a: 1 } }]',
      '[{ const: { a: 1 } }]',
      '[{ move: { a: /b/c } }]',
      '[{ convert: { a: number } }]',
    ].map((operations): [string, string, string] => [operations, value, '']),
  ),
  ['[{ head: "" }]', '[]', ''],
  ...['""', '"1,5"', '"0x10"', '"1e999"', '"Infinity"', '[1]', '{}', 'true'].map((value): [string, string, string] => [
    '[{ convert: { a: number } }]',
    `{"a":${value}}`,
    '/a',
  ]),
  ...['1.5', '"1.5"', '"one"'].map((value): [string, string, string] => [
    '[{ convert: { a: integer } }]',
    `{"a":${value}}`,
    '/a',
  ]),
  ...[
    '"2026-02-30"',
    '"2026-02-30T00:00:00Z"',
    '"2026-13-30T00:00:00Z"',
    '"2026-01-00T00:00:00Z"',
    '"2026-06-30T24:00:00Z"',
    '"2026-06-30T12:00:60Z"',
    '"soon"',
    '1e300',
    'true',
  ].map((value): [string, string, string] => ['[{ convert: { a: date } }]', `{"a":${value}}`, '/a']),
];

it.each(failures)('%s fails for %s at %s', (operations, body, pointer) => {
  let error: unknown;
  try {
    run(operations, body);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(AdaptationError);
  expect((error as AdaptationError).pointer).toBe(pointer);
});

describe('untouched parts', () => {
  it.each([
    '{"z":1,"a":2,"m":{"y":1,"b":2}}',
    '{"n":12345678901234567890,"d":9.50,"e":1E5,"f":1e-7,"m":-0,"s":0.1,"t":1.0}',
    '{"__proto__":{"a":1},"constructor":1,"toString":"x"}',
    '[1.10,[2.20,"3.30"],{"a":100000000000000000000}]',
    '{"text":"a \\"quoted\\" 12345678901234567890, 9.50","empty":"","nested":[[[]]]}',
    '{"a":0.0000001}',
    '[0.000001,-0.00000012]',
    // 16 digits or more, with few decimals.
    '{"a":71330556492.32694,"b":[81318434125909.1043]}',
    '12345678901234567890',
    '1.50',
  ])('keep their order and the spelling of their numbers: %s', (body) => expect(run('[]', body)).toBe(body));

  it('keep a field named __proto__ as data', () => {
    const adapted = run('[{ rename: { /__proto__: x, a: b } }]', '{"__proto__":{"c":1},"a":2}');
    expect(adapted).toBe('{"x":{"c":1},"b":2}');
    expect(run('[{ move: { a: /__proto__/b } }]', '{"a":1}')).toBe('{"__proto__":{"b":1}}');
    expect(Object.hasOwn(Object.prototype, 'b')).toBe(false);
  });
});

it('null stays possible in a schema without a type', () => {
  const other = { $ref: '#/components/schemas/Drink' };
  expect(unionOf([other, { type: 'null' }])).toEqual({ anyOf: [other, { type: 'null' }] });
  expect(unionOf([{}, { type: 'null' }])).toEqual({});
});
