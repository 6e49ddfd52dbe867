import { describe, expect, it } from 'vitest';
import { contractOf, findingsBetween, type Json, rulesAmong } from '../support/comparing.ts';

const [text, list] = [{ type: 'string' }, { type: 'array' }];
const kind = { contains: { type: 'integer' } };
const textOrNull = { type: ['string', 'null'] };

function rulesOf(direction: 'request' | 'response', old: Json, now: Json): string[] {
  return rulesAmong(findingsBetween(contractOf(direction, old), contractOf(direction, now)));
}

describe.each(['request', 'response'] as const)('in a %s', (direction) => {
  it.each<[what: string, one: Json, other: Json]>([
    ['no item of a kind', { ...list, ...kind, minContains: 0 }, list],
    ['as many items of no kind', { ...list, minContains: 2, maxContains: 3 }, list],
    [
      'a field that demands another',
      { type: 'object', dependentRequired: { a: ['b'] } },
      { type: 'object', dependentSchemas: { a: { required: ['b'], description: 'with b' } } },
    ],
    ['null let in and ruled out', { ...textOrNull, not: { type: 'null' } }, text],
    ['null ruled out as a value', { ...textOrNull, not: { const: null } }, text],
    ['null ruled out where it never was', { ...text, not: { enum: [null] } }, text],
    ['multiples of 1', { type: 'number', multipleOf: 1 }, { type: 'integer' }],
    ['multiples of 1 among whole numbers', { type: ['integer', 'null'], multipleOf: 1 }, { type: ['integer', 'null'] }],
  ])('%s: is the same', (_what, one, other) => {
    expect(rulesOf(direction, one, other)).toEqual([]);
    expect(rulesOf(direction, other, one)).toEqual([]);
  });
});

describe('in a request', () => {
  it.each<[what: string, old: Json, now: Json, rule: string]>([
    ['some items of a kind', list, { ...list, ...kind, minContains: 1 }, 'request-constraint-tightened'],
    ['few items of a kind', list, { ...list, ...kind, minContains: 0, maxContains: 2 }, 'request-constraint-tightened'],
    [
      'a kind that another part may leave out',
      list,
      { ...list, allOf: [{ minContains: 0, ...kind }, { contains: text }] },
      'request-constraint-tightened',
    ],
    [
      'a kind, and nothing of how many in its own part',
      list,
      { ...list, allOf: [{ minContains: 0 }, kind] },
      'request-constraint-tightened',
    ],
    [
      'a field that demands more than another',
      { type: 'object', dependentRequired: { a: ['b'] } },
      { type: 'object', dependentSchemas: { a: { required: ['b'], minProperties: 3 } } },
      'request-constraint-tightened',
    ],
    ['null ruled out', textOrNull, { ...textOrNull, not: { type: 'null' } }, 'request-constraint-tightened'],
    ['whole numbers', { type: 'number' }, { type: 'number', multipleOf: 1 }, 'request-type-changed'],
    ['even numbers', { type: 'integer' }, { type: 'number', multipleOf: 2 }, 'request-constraint-tightened'],
  ])('%s: are told', (_what, old, now, rule) => {
    expect(rulesOf('request', old, now)).toContain(rule);
  });
});
