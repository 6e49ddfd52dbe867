import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import type { NamedSchemas, SubSchema } from '../../../gateway/contract/schema/jsonSchema.ts';
import { schemaPolicies } from '../../../gateway/contract/schema/policies.ts';
import { checkCodeOf, SchemaValidator } from '../../../gateway/contract/schema/validator.ts';

type IsValid = (name: string, value: unknown) => boolean;

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function validatorOf(named: NamedSchemas): IsValid {
  const validator = new SchemaValidator({ named, policy: schemaPolicies.adaptedResponse });
  return (name, value) => validator.isValid(ref(name), value);
}

/** With the code that the serving processes run. A schema without a check lets every value pass. */
function servedChecksOf(named: NamedSchemas): IsValid {
  const refs = Object.fromEntries(Object.keys(named).map((name) => [name, ref(name)]));
  const module = { exports: {} as Record<string, (value: unknown) => boolean> };
  new Function('module', 'exports', 'require', checkCodeOf(refs, named))(
    module,
    module.exports,
    createRequire(import.meta.url),
  );
  return (name, value) => module.exports[name]?.(value) ?? true;
}

/** A chain of objects, of which each leads to the next one and to the first one. */
function chainOf(steps: number): NamedSchemas {
  const object = (step: number): SubSchema => {
    return { type: 'object', required: ['id'], properties: { next: ref(`Step${step + 1}`), first: ref('Step0') } };
  };
  const chain = Array.from({ length: steps }, (_one, step) => [`Step${step}`, object(step)] as const);
  return { ...Object.fromEntries(chain), [`Step${steps}`]: { type: 'integer' } };
}

describe.each([
  ['the validator', validatorOf, 5_000],
  ['the served checks', servedChecksOf, 400],
])('%s', (_name, checksOf, steps) => {
  it(`follows schemas that refer to each other over ${steps} steps`, () => {
    const isValid = checksOf(chainOf(steps));
    expect(isValid('Step0', { id: 1, next: { id: 1, first: { id: 1 } } })).toBe(true);
    expect(isValid('Step0', { id: 1, next: { id: 1, first: {} } })).toBe(false);
    expect(isValid(`Step${steps - 1}`, { id: 1, next: 'text' })).toBe(false);
  });

  it('checks nothing with a schema that leads to one that no validator can compile', () => {
    const isValid = checksOf({
      Fine: { type: 'object', properties: { broken: ref('Broken') } },
      Broken: { enum: [], properties: { fine: ref('Fine') } },
      Missing: { type: 'object', properties: { missing: ref('nowhere') } },
      Other: { type: 'object', properties: { text: { type: 'string' } } },
    });
    for (const name of ['Fine', 'Broken', 'Fine', 'Missing']) expect(isValid(name, 1)).toBe(true);
    expect([isValid('Other', 1), isValid('Other', { text: 1 }), isValid('Other', {})]).toEqual([false, false, true]);
  });

  it.each(['x-see', 'default', 'const', 'enum', 'example'])('takes a $ref in %s for data', (key) => {
    const data = ref('Nowhere');
    const isValid = checksOf({
      Text: { type: ['string', 'object'], maxLength: 3, [key]: key === 'enum' ? [data, 'one'] : data },
      Uses: { properties: { text: ref('Text') } },
    });
    expect(isValid('Uses', { text: 'long text' })).toBe(false);
    expect(isValid('Uses', { text: data })).toBe(true);
  });

  it('ignores ids and anchors in extensions', () => {
    const see = { one: { $id: 'same' }, two: { $id: 'same' }, three: { $anchor: 'not an anchor!' } };
    const isValid = checksOf({ Text: { type: 'string', 'x-see': see } });
    expect([isValid('Text', 1), isValid('Text', 'text')]).toEqual([false, true]);
  });

  it('a field has the name of a keyword that is left out elsewhere', () => {
    const fields = { default: ref('Text'), 'x-see': ref('Text'), example: ref('Text') };
    const isValid = checksOf({ Text: { type: 'string' }, All: { properties: fields } });
    for (const name of Object.keys(fields)) expect(isValid('All', { [name]: 1 })).toBe(false);
  });

  it('knows the fields of a schema beside a $ref, whatever was validated before', () => {
    const closed = (field: string): SubSchema => {
      return { allOf: [ref('Base')], properties: { [field]: {} }, unevaluatedProperties: false };
    };
    const isValid = checksOf({
      All: { properties: { base: ref('Base'), one: ref('One'), two: ref('Two') } },
      One: closed('one'),
      Two: closed('two'),
      Base: { properties: { base: {}, more: ref('More') } },
      More: { properties: { last: ref('Last') } },
      Last: { properties: { text: { type: 'string' } } },
    });
    for (const _time of [1, 2]) {
      expect(isValid('All', { two: { base: 1, two: 1 } })).toBe(true);
      expect(isValid('All', { two: { two: 1, one: 1 } })).toBe(false);
      expect(isValid('All', { one: { one: 1 } })).toBe(true);
    }
  });

  it('knows the fields of schemas that refer to each other, whatever was validated before', () => {
    const closed = (field: string): SubSchema => {
      return { allOf: [ref('Base')], properties: { [field]: {} }, unevaluatedProperties: false };
    };
    const isValid = checksOf({
      Base: { type: 'object', properties: { one: ref('One'), two: ref('Two') } },
      One: closed('a'),
      Two: closed('b'),
      UsesBase: { properties: { base: ref('Base') } },
      Closed: { ...ref('Base'), unevaluatedProperties: false },
    });
    for (const _time of [1, 2, 3]) {
      expect(isValid('One', { a: 1 })).toBe(true);
      expect(isValid('Two', { a: 1 })).toBe(false);
      expect(isValid('UsesBase', { base: { one: { a: 1 } } })).toBe(true);
      expect(isValid('UsesBase', { base: { two: { a: 1 } } })).toBe(false);
      expect(isValid('Closed', { one: { a: 1 } })).toBe(true);
      expect(isValid('Closed', { a: 1 })).toBe(false);
    }
  });
});

it('says again that a schema overflows the stack, and validates with the others', () => {
  let deep: SubSchema = { type: 'integer' };
  for (let depth = 0; depth < 20_000; depth += 1) deep = { items: deep };
  const named = { Deep: deep, Text: { type: 'string' } };
  const validator = new SchemaValidator({ named, policy: schemaPolicies.adaptedResponse });
  const both = { anyOf: [ref('Text'), ref('Deep')] };
  for (const schema of [both, both, { ...both }]) expect(() => validator.isValid(schema, 1)).toThrow(RangeError);
  expect(validator.isValid({ properties: { text: ref('Text') } }, { text: 1 })).toBe(false);
});
