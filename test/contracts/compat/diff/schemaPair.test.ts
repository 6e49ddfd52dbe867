import { describe, expect, it } from 'vitest';
import { contractOf, contractWithParameter, findingsBetween, type Json, rulesAmong } from '../support/comparing.ts';

const [text, whole, amount, nothing] = ['string', 'integer', 'number', 'null'].map((type) => ({ type }));
const object = (properties: Json, more: Json = {}): Json => ({ type: 'object', properties, ...more });
const drink = { $ref: '#/components/schemas/Drink' };
const components = { Drink: object({ name: text }) };
const [hot, cold] = [object({ hot: text }, { required: ['hot'] }), object({ cold: text }, { required: ['cold'] })];

const same: readonly (readonly [what: string, one: unknown, other: unknown])[] = [
  [
    'null beside a reference, in the words of 3.0 and 3.1',
    { allOf: [drink], nullable: true },
    { anyOf: [drink, nothing] },
  ],
  ['null in a list of values', { type: ['string', 'null'], enum: ['a', null] }, { oneOf: [{ enum: ['a'] }, nothing] }],
  [
    'null of a choice, outside and inside',
    { oneOf: [hot, cold, nothing] },
    { oneOf: [hot, { ...cold, type: ['object', 'null'] }] },
  ],
  ['what may be anything, null included', {}, { nullable: true }],
  ['listed integers with the type number', { enum: [1, 2] }, { ...amount, enum: [1, 2] }],
  ['null, by its type and as a value', nothing, { enum: [null] }],
  ['an open object', object({}), { type: 'object', additionalProperties: {} }],
  ['a schema that is true', object({ a: true }), object({ a: {} })],
  ['the values of two parts', { allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] }, { const: 'b' }],
  ['more than 0, of whole numbers', { type: 'integer', exclusiveMinimum: 0 }, { type: 'integer', minimum: 1 }],
  [
    'limits of each type',
    { type: ['string', 'integer'], maxLength: 3, minimum: 2 },
    {
      anyOf: [
        { ...text, maxLength: 3 },
        { ...whole, minimum: 2 },
      ],
    },
  ],
  [
    'two choices in another order',
    { allOf: [{ oneOf: [hot, cold] }, { anyOf: [text, object({ x: text })] }] },
    { allOf: [{ anyOf: [text, object({ x: text })] }, { oneOf: [cold, hot] }] },
  ],
  [
    'choices of choices',
    { oneOf: [{ oneOf: [hot, cold] }, object({ x: text })] },
    { oneOf: [hot, cold, object({ x: text })] },
  ],
  ['the front of a list', { type: 'array', items: [text, whole] }, { type: 'array', prefixItems: [text, whole] }],
  ['a type that goes without saying', { properties: { a: text } }, object({ a: text })],
  [
    'a closed object',
    object({ a: text }, { additionalProperties: false }),
    object({ a: text }, { unevaluatedProperties: false }),
  ],
];

describe.each(['request', 'response'] as const)('in a %s', (direction) => {
  it.each(same)('%s: is the same', (_what, one, other) => {
    const [before, after] = [one, other].map((schema) => contractOf(direction, schema, components));
    const found = [...findingsBetween(before, after), ...findingsBetween(after, before)];
    expect(found.filter(({ rule }) => rule !== 'structure-equivalent')).toEqual([]);
  });
});

const changed: readonly (readonly [what: string, old: unknown, now: unknown, request: string[], response: string[]])[] =
  [
    [
      'one of two negations goes',
      { allOf: [{ not: { const: 1 } }, { not: { const: 2 } }] },
      { not: { const: 1 } },
      ['param-relaxed'],
      ['response-value-added'],
    ],
    [
      'a choice takes null',
      { oneOf: [hot, cold] },
      { oneOf: [hot, cold, nothing] },
      ['param-relaxed'],
      ['response-field-weakened'],
    ],
    [
      'an object becomes a choice with null',
      hot,
      { oneOf: [hot, cold, nothing] },
      ['param-relaxed', 'structure-equivalent'],
      ['response-alternative-added', 'response-field-weakened'],
    ],
    [
      'a field that had no name is named',
      { type: 'object', additionalProperties: text },
      object({ a: whole }, { additionalProperties: text }),
      ['optional-param-added', 'request-type-changed'],
      ['response-field-added', 'response-type-changed'],
    ],
    [
      'a type widens, and takes its format with it',
      { type: 'integer', format: 'int32' },
      amount,
      ['param-relaxed'],
      ['response-type-changed'],
    ],
    [
      'anything becomes something',
      {},
      { type: 'string', format: 'date' },
      ['request-type-changed'],
      ['response-strengthened'],
    ],
    [
      'a field is no longer possible',
      object({ a: true }),
      object({ a: false }),
      ['request-constraint-tightened'],
      ['response-field-removed'],
    ],
    [
      'a keyword beside an intermediate $ref',
      { $ref: '#/components/schemas/Short' },
      { $ref: '#/components/schemas/Shorter' },
      ['request-constraint-tightened'],
      ['response-strengthened'],
    ],
  ];

describe('a change', () => {
  const named = {
    Name: text,
    Short: { $ref: '#/components/schemas/Name', maxLength: 9 },
    Shorter: { $ref: '#/components/schemas/Name', maxLength: 5 },
  };

  it.each(changed)('%s', (_what, old, now, request, response) => {
    const rules = (direction: 'request' | 'response') =>
      rulesAmong(findingsBetween(contractOf(direction, old, named), contractOf(direction, now, named)));
    expect(rules('request')).toEqual(request);
    expect(rules('response')).toEqual(response);
  });
});

describe('a parameter', () => {
  const list = { type: 'array', items: text };

  it.each([
    ['without lists, exploded or not', { schema: text }, { schema: text, explode: false }, []],
    ['with lists, exploded or not', { schema: list }, { schema: list, explode: false }, ['structure-changed']],
    ['of no type, which is text', { schema: {} }, { schema: text }, []],
    ['of whole numbers, now any text', { schema: whole }, { schema: text }, ['param-relaxed']],
    ['of any text, now whole numbers', { schema: text }, { schema: whole }, ['request-type-changed']],
    ['that takes reserved characters', { schema: text }, { schema: text, allowReserved: true }, ['param-relaxed']],
  ])('%s', (_what, old, now, rules) => {
    expect(rulesAmong(findingsBetween(contractWithParameter(old), contractWithParameter(now)))).toEqual(rules);
  });
});
