import { describe, expect, it } from 'vitest';
import { prefersGrease } from '../../../gateway/contracts/grease/greasedExchange.ts';
import { greasePlanOf } from '../../../gateway/contracts/grease/greasePlan.ts';
import { linkedNodes, withUnknownMembers } from '../../../gateway/contracts/grease/splice.ts';
import { deepRef, deepSchemas } from '../../contract/schema/deepSchemas.ts';
import { jsonResponse } from '../shadow/pairs.ts';
import { contract, loadGreased } from './greasedVersion.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The body with `+` for each unknown member, or undefined if it is passed on unchanged. */
function spliced(
  schema: Schema | boolean,
  body: string,
  named: Readonly<Record<string, Schema>> = {},
): string | undefined {
  const plan = greasePlanOf([['/', new Map([['200', { content: { 'application/json': { schema } } }]])]], named);
  const [, byType = []] = plan.routes[0]?.[1][0] ?? [];
  const root = linkedNodes(plan)[byType[0]?.[1] ?? -1];
  const result = root && withUnknownMembers(Buffer.from(body), root, plan.takenNames);
  return result?.toString().replace(/(,?)"x_grease_[0-9a-f]{4}":true/g, '$1+');
}

const text = { type: 'string' };
const open = { type: 'object', properties: { a: text } };
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

describe('an object gets an unknown member', () => {
  it.each<[string, Schema, string, string, Record<string, Schema>?]>([
    ['if the contract has its properties', open, '{"a":"b"}', '{"a":"b",+}'],
    ['without members', open, ' { } ', ' { +} '],
    ['in an array', { type: 'array', items: open }, '[{},{"a":"]"},[{}],1]', '[{+},{"a":"]",+},[{}],1]'],
    ['of a tuple', { type: 'array', prefixItems: [open] }, '[{}]', '[{+}]'],
    ['within a map', { type: 'object', additionalProperties: open }, '{"x":{"a":"b"}}', '{"x":{"a":"b",+}}'],
    ['that may be null', { ...open, type: ['object', 'null'] }, '{}', '{+}'],
    [
      'of allOf',
      { allOf: [ref('Open'), { type: 'object', properties: { b: open } }] },
      '{"b":{}}',
      '{"b":{+},+}',
      { Open: open },
    ],
    ['of oneOf', { oneOf: [open, { type: 'object', properties: { c: open } }] }, '{"c":{}}', '{"c":{+},+}'],
    ['of anyOf with null', { anyOf: [open, { type: 'null' }] }, '{}', '{+}'],
    ['beside a choice between values', { anyOf: [open, { enum: ['a', 'b'] }] }, '{}', '{+}'],
    ['if it declares that it is open', { ...open, additionalProperties: true }, '{}', '{+}'],
    ['with duplicate names', { type: 'object', properties: { a: open } }, '{"a":{},"a":{}}', '{"a":{+},"a":{+},+}'],
    [
      'with an escaped name',
      { type: 'object', properties: { é: open } },
      '{"\\u00e9":{},"é":{}}',
      '{"\\u00e9":{+},"é":{+},+}',
    ],
    [
      'called __proto__',
      { type: 'object', properties: JSON.parse('{"__proto__":{"properties":{"a":{}}}}') as Schema },
      '{"__proto__":{}}',
      '{"__proto__":{+},+}',
    ],
    [
      'after strings with quotes',
      { type: 'object', properties: { a: open } },
      '{"z":"\\\\\\"{","a":{}}',
      '{"z":"\\\\\\"{","a":{+},+}',
    ],
    [
      'of a subtype',
      ref('Pet'),
      '{"kind":"cat","home":{}}',
      '{"kind":"cat","home":{+},+}',
      {
        Pet: { type: 'object', properties: { kind: text }, discriminator: { propertyName: 'kind' } },
        Cat: { allOf: [ref('Pet'), { type: 'object', properties: { home: open } }] },
      },
    ],
  ])('%s', (_case, schema, body, expected, named) => expect(spliced(schema, body, named)).toBe(expected));
});

describe('an object gets none', () => {
  const closed = { ...open, additionalProperties: false };
  it.each<[string, Schema | boolean, string, Record<string, Schema>?]>([
    ['if it is a map', { type: 'object', additionalProperties: text }, '{"a":"b"}'],
    ['if it is a map with a known key', { ...open, additionalProperties: text }, '{"a":"b"}'],
    ['if it is closed', closed, '{"a":"b"}'],
    ['if it is closed by unevaluatedProperties', { ...open, unevaluatedProperties: false }, '{}'],
    ['if a part of it is closed', { allOf: [open, { additionalProperties: false }] }, '{}'],
    ['if an alternative is closed', { oneOf: [open, closed] }, '{}'],
    ['if an alternative is a map', { anyOf: [open, { type: 'object', additionalProperties: text }] }, '{}'],
    ['if an alternative is not described', { anyOf: [open, {}] }, '{}'],
    [
      'if a subtype is closed',
      ref('Pet'),
      '{}',
      { Pet: { ...open, discriminator: {} }, Cat: { allOf: [ref('Pet'), closed] } },
    ],
    ['if it has no properties', { type: 'object', properties: {} }, '{}'],
    ['if nothing is known', true, '{}'],
    ['if its names have a pattern', { ...open, propertyNames: { pattern: '^a' } }, '{}'],
    ['if its members have a pattern', { ...open, patternProperties: { '^x': text } }, '{}'],
    ['if the number of its members is limited', { ...open, maxProperties: 1 }, '{}'],
    ['under a condition', { ...open, if: { required: ['a'] }, else: closed }, '{}'],
    ['if it is one of several values', { ...open, enum: [{ a: 'b' }] }, '{"a":"b"}'],
    ['if its schema refers only to itself', ref('Loop'), '{}', { Loop: ref('Loop') }],
    [
      'if it has too many alternatives',
      { allOf: Array.from({ length: 7 }, () => ({ oneOf: [open, { ...open, title: 'b' }] })) },
      '{}',
    ],
  ])('%s', (_case, schema, body, named) => expect(spliced(schema, body, named)).toBeUndefined());
});

it('reaches any depth of a recursive schema', () => {
  const named = { Tree: { type: 'object', properties: { below: { type: 'array', items: ref('Tree') } } } };
  const depth = 30_000;
  const result = spliced(ref('Tree'), '{"below":['.repeat(depth) + ']}'.repeat(depth), named);
  expect(result?.match(/\+/g)?.length).toBe(depth);
});

it('never uses a name that the contract or the body has', () => {
  const names = Array.from({ length: 0x10000 }, (_, index) => `x_grease_${index.toString(16).padStart(4, '0')}`);
  const [free = '', inContract = '', ...others] = names.toReversed();
  const schema = { type: 'object', properties: { a: open, [inContract]: text } };
  const plan = greasePlanOf([['/', new Map([['200', { content: { 'application/json': { schema } } }]])]], {});
  const [root] = linkedNodes(plan);
  const body = (used: readonly string[]): Buffer =>
    Buffer.from(JSON.stringify(Object.fromEntries(used.map((name) => [name, 1]))));
  expect(plan.takenNames).toEqual([inContract]);
  expect(root && withUnknownMembers(body(others), root, plan.takenNames)?.toString()).toContain(`,"${free}":true}`);
  expect(root && withUnknownMembers(body([...others, free]), root, plan.takenNames)).toBeUndefined();
});

describe('Prefer (RFC 7240)', () => {
  it.each([
    'grease',
    'GREASE',
    'respond-async, grease',
    'wait=10 , Grease ; since=1',
    'foo="a, b"; bar, grease',
    'grease=""',
    ',,grease,',
  ])('%s asks for unknown members', (list) => expect(prefersGrease(list)).toBe(true));

  it.each([
    '',
    'respond-async',
    'grease=off',
    'greased',
    'foo="a, grease"',
    'foo; grease',
    'foo=grease',
    'grease=off, grease',
    '"grease"',
    'foo="',
  ])('%s does not', (list) => expect(prefersGrease(list)).toBe(false));
});

it('a contract that cannot be resolved is a warning, and nothing is changed', async () => {
  const broken = { ...contract, components: {} };
  const routes = { routes: { '/v1': { upstream: 'http://127.0.0.1:1', contract: 'v1.json', grease: 'request' } } };
  const { snapshot, warnings } = await loadGreased(routes, { 'v1.json': broken });
  expect(snapshot?.versions.get('v1')?.grease).toEqual({ plan: undefined });
  expect(warnings.map(({ path, message }) => `${path} ${message}`)).toEqual([
    expect.stringMatching(/^routes\.\/v1\.grease Responses of \/v1 never contain unknown members: .*Drink/),
  ]);
});

it('a contract whose schemas are nested too deeply is a warning, and nothing is changed', async () => {
  const deep = {
    ...contract,
    paths: { '/deep': { get: { responses: { '200': jsonResponse(deepRef) } } } },
    components: { schemas: deepSchemas({ refer: (next) => ({ anyOf: [next, { type: 'string' }] }) }) },
  };
  const routes = { routes: { '/v1': { upstream: 'http://127.0.0.1:1', contract: 'v1.json', grease: 'request' } } };
  const { snapshot, warnings } = await loadGreased(routes, { 'v1.json': deep });
  expect(snapshot?.versions.get('v1')?.grease).toEqual({ plan: undefined });
  expect(warnings.map(({ message }) => message)).toEqual([
    expect.stringContaining('has schemas that are nested too deeply'),
  ]);
});
