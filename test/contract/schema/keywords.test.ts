import { describe, expect, it } from 'vitest';
import { contractOf, findingsBetween, type Json, rulesAmong } from '../../contracts/compat/support/comparing.ts';

const [text, list] = [{ type: 'string' }, { type: 'array' }];
const kind = { contains: { type: 'integer' } };
const textOrNull = { type: ['string', 'null'] };

function rulesOf(direction: 'request' | 'response', old: Json, now: Json): string[] {
  return rulesAmong(findingsBetween(contractOf(direction, old), contractOf(direction, now)));
}

describe.each(['request', 'response'] as const)('in a %s', (direction) => {
  it.each<[what: string, one: Json, other: Json]>([
    ['minContains: 0', { ...list, ...kind, minContains: 0 }, list],
    ['minContains without contains', { ...list, minContains: 2, maxContains: 3 }, list],
    [
      'dependentRequired as dependentSchemas',
      { type: 'object', dependentRequired: { a: ['b'] } },
      { type: 'object', dependentSchemas: { a: { required: ['b'], description: 'with b' } } },
    ],
    ['null allowed and excluded', { ...textOrNull, not: { type: 'null' } }, text],
    ['null excluded as a value', { ...textOrNull, not: { const: null } }, text],
    ['null excluded where it was not allowed', { ...text, not: { enum: [null] } }, text],
    ['multiples of 1', { type: 'number', multipleOf: 1 }, { type: 'integer' }],
    ['multiples of 1 among integers', { type: ['integer', 'null'], multipleOf: 1 }, { type: ['integer', 'null'] }],
  ])('%s: changes nothing', (_what, one, other) => {
    expect(rulesOf(direction, one, other)).toEqual([]);
    expect(rulesOf(direction, other, one)).toEqual([]);
  });
});

describe('in a request', () => {
  it.each<[what: string, old: Json, now: Json, rule: string]>([
    ['contains', list, { ...list, ...kind, minContains: 1 }, 'request-constraint-tightened'],
    ['maxContains', list, { ...list, ...kind, minContains: 0, maxContains: 2 }, 'request-constraint-tightened'],
    [
      'contains beside an optional one of another part',
      list,
      { ...list, allOf: [{ minContains: 0, ...kind }, { contains: text }] },
      'request-constraint-tightened',
    ],
    [
      'contains, with minContains in another part',
      list,
      { ...list, allOf: [{ minContains: 0 }, kind] },
      'request-constraint-tightened',
    ],
    [
      'dependentSchemas with more than required',
      { type: 'object', dependentRequired: { a: ['b'] } },
      { type: 'object', dependentSchemas: { a: { required: ['b'], minProperties: 3 } } },
      'request-constraint-tightened',
    ],
    ['null excluded', textOrNull, { ...textOrNull, not: { type: 'null' } }, 'request-constraint-tightened'],
    ['integers', { type: 'number' }, { type: 'number', multipleOf: 1 }, 'request-type-changed'],
    ['even numbers', { type: 'integer' }, { type: 'number', multipleOf: 2 }, 'request-constraint-tightened'],
  ])('%s: is a change', (_what, old, now, rule) => {
    expect(rulesOf('request', old, now)).toContain(rule);
  });
});
