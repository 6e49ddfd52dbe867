import { describe, expect, it } from 'vitest';
import { contractOf, findingsBetween, type Json } from '../support/comparing.ts';

const [text, amount] = [{ type: 'string' }, { type: 'number' }];
const letters = { ...text, enum: ['a', 'bc', '🍸'] };
const amounts = { ...amount, enum: [0.3, 6] };

function errorsOf(direction: 'request' | 'response', old: Json, now: Json): string[] {
  const findings = findingsBetween(contractOf(direction, old), contractOf(direction, now));
  return findings.filter(({ level }) => level === 'error').map(({ rule }) => rule);
}

it('compares the limits of integers with those of numbers, although other types differ', () => {
  const [numbers, integers] = [{ type: ['number', 'string'] }, { type: ['integer', 'boolean'] }];
  const errors = ['request-type-changed', 'request-constraint-tightened'];
  expect(errorsOf('request', { ...numbers, minimum: 2 }, { ...integers, minimum: 5 })).toEqual(errors);
  expect(errorsOf('request', { ...integers, minimum: 2 }, { ...numbers, minimum: 5 })).toEqual(errors);
});

describe('a new limit where only listed values were valid', () => {
  it.each<[old: Json, demand: Json]>([
    [letters, { minLength: 3 }],
    [letters, { maxLength: 1 }],
    [letters, { pattern: '^[a-z]+$' }],
    [letters, { pattern: '^.(.|.)*$' }],
    [{ ...letters, enum: ['a'.repeat(40)] }, { pattern: 'a' }],
    [{ ...letters, enum: Array.from({ length: 101 }, (_unused, index) => String(index)) }, { maxLength: 9 }],
    [{ ...letters, pattern: '^.' }, { pattern: '^[abc]' }],
    [amounts, { minimum: 1 }],
    [amounts, { exclusiveMaximum: 6 }],
    [amounts, { multipleOf: 0.2 }],
    [{ type: 'array', enum: [['a', 'b']] }, { maxItems: 1 }],
    [{ type: 'object', enum: [{ a: 1 }] }, { minProperties: 2 }],
    [{ type: 'array', enum: [['a', 'a']] }, { uniqueItems: true }],
  ])('%j, some of which violate %j', (old, demand) => {
    const { enum: _values, ...open } = old;
    expect(errorsOf('request', old, { ...open, ...demand })).toEqual(['request-constraint-tightened']);
    expect(errorsOf('request', old, { ...old, ...demand })).toEqual(['request-constraint-tightened']);
  });

  it.each<[old: Json, demand: Json]>([
    [letters, { minLength: 1, maxLength: 2 }],
    [letters, { pattern: '^.{1,2}$' }],
    [{ ...letters, pattern: '.' }, { pattern: '^..?$' }],
    [amounts, { minimum: 0.3, exclusiveMaximum: 7 }],
    [amounts, { multipleOf: 0.1 }],
    [{ ...amounts, multipleOf: 0.2 }, { multipleOf: 0.3 }],
    [
      { type: 'array', enum: [['a', 'b']] },
      { minItems: 2, maxItems: 2 },
    ],
    [{ type: 'object', enum: [{ a: 1 }] }, { minProperties: 1 }],
    [
      { type: ['string', 'integer'], enum: ['a', 7] },
      { maxLength: 1, minimum: 7 },
    ],
  ])('%j, all of which satisfy %j', (old, demand) => {
    const { enum: _values, ...open } = old;
    expect(errorsOf('request', old, { ...open, ...demand })).toEqual([]);
    expect(errorsOf('request', old, { ...old, ...demand })).toEqual([]);
  });
});

describe('minProperties beside required', () => {
  const object = { type: 'object', properties: { a: text, id: { ...text, readOnly: true } } };
  const rules = (old: Json, now: Json, direction: 'request' | 'response' = 'request'): string[] =>
    findingsBetween(contractOf(direction, old), contractOf(direction, now)).map(({ rule }) => rule);

  it('changes nothing up to the number of required fields', () => {
    const old = { ...object, required: ['a'] };
    expect(rules(old, { ...old, minProperties: 1 })).toEqual([]);
    expect(rules({ ...old, minProperties: 1 }, old, 'response')).toEqual([]);
  });

  it('is a limit beyond that number, without fields that are never sent', () => {
    const [old, hidden] = [
      { ...object, required: ['a'] },
      { ...object, required: ['id'] },
    ];
    expect(rules(old, { ...old, minProperties: 2 })).toEqual(['request-constraint-tightened']);
    expect(rules(hidden, { ...hidden, minProperties: 1 })).toEqual(['request-constraint-tightened']);
    expect(rules({ ...old, minProperties: 2 }, old, 'response')).toEqual(['response-value-added']);
  });
});

describe('limits without a type', () => {
  const levels = (direction: 'request' | 'response', old: Json, now: Json): string[] =>
    findingsBetween(contractOf(direction, old), contractOf(direction, now)).map(
      ({ level, rule }) => `${level} ${rule}`,
    );
  const tightened = 'error request-constraint-tightened';
  const [relaxed, added] = ['info param-relaxed', 'warn response-value-added'];

  it.each<[typed: Json, limited: Json]>([
    [amount, { minimum: 5 }],
    [text, { pattern: '^a' }],
    [text, { not: { const: 'a' } }],
    [{ type: 'array' }, { contains: { const: 1 } }],
    [{ type: ['string', 'integer'] }, { maxLength: 5 }],
  ])('remain when %j becomes %j, and the reverse', (typed, limited) => {
    expect(levels('request', typed, limited)).toEqual([tightened, relaxed]);
    expect(levels('response', limited, typed)).toEqual([added, 'info response-strengthened']);
  });

  it('do not apply to values of another type', () => {
    expect(levels('request', text, { minimum: 5 })).toEqual([relaxed]);
    expect(levels('response', { minimum: 5 }, text)).toEqual(['info response-strengthened']);
    expect(levels('request', { type: 'integer' }, { contains: text })).toEqual([relaxed]);
    expect(levels('request', text, { propertyNames: { maxLength: 3 } })).toEqual([relaxed]);
    expect(levels('request', { ...amount, multipleOf: 1 }, { multipleOf: 1 })).toEqual([relaxed]);
  });

  it('are compared as the limits of the items of an array', () => {
    const [any, limited] = [{ type: 'array' }, { type: 'array', items: { minLength: 3 } }];
    expect(levels('request', any, limited)).toEqual([tightened]);
    expect(levels('request', limited, any)).toEqual([relaxed]);
    expect(levels('response', limited, any)).toEqual([added]);
  });
});

describe('contains', () => {
  const containing = (contains: Json, limits: Json = {}): Json => ({ type: 'array', contains, ...limits });
  const twice = { maxContains: 2 };
  const tightened = ['request-constraint-tightened'];

  it('with maxContains accepts other arrays if it is wider or narrower', () => {
    const [any, some] = [containing({}, twice), containing(text, twice)];
    expect(errorsOf('request', any, some)).toEqual(tightened);
    expect(errorsOf('request', some, any)).toEqual(tightened);
  });

  it('may be satisfied by another item for each part', () => {
    const [one, other] = [containing({ const: 1 }), containing({ const: 2 })];
    expect(errorsOf('request', one, { allOf: [one, other] })).toContain(tightened[0]);
    expect(errorsOf('request', { allOf: [one, other] }, { allOf: [other, one] })).toEqual([]);
    expect(errorsOf('request', { allOf: [one, containing({ const: 1 })] }, one)).toEqual([]);
  });
});

it('a divisor that is much smaller is wider', () => {
  const [large, small] = [
    { ...amount, multipleOf: 1e12 },
    { ...amount, multipleOf: 0.01 },
  ];
  expect(errorsOf('request', large, small)).toEqual([]);
  expect(errorsOf('request', small, large)).toEqual(['request-constraint-tightened']);
});

it('names the types of listed values', () => {
  const [finding] = findingsBetween(contractOf('response', { enum: [1, 2] }), contractOf('response', { const: 'a' }));
  expect(finding?.sentence).toBe('GET /drinks: response 200 was an integer and is now a string');
});
