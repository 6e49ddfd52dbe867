import { describe, expect, it } from 'vitest';
import { lettersOf, likeness } from '../../gateway/compat/likeness.ts';
import { contractOf, findingsBetween } from './support/comparing.ts';

const [text, amount] = [{ type: 'string' }, { type: 'number' }];

function hintsBetween(old: object, now: object): (string | undefined)[] {
  const [before, after] = [old, now].map((properties) => contractOf('response', { type: 'object', properties }));
  return findingsBetween(before, after)
    .filter(({ rule }) => rule === 'response-field-removed')
    .map(({ hint }) => hint);
}

describe('a field that is gone', () => {
  it.each([
    ['in another spelling', { drink_name: text }, { drinkName: text }, 'looks renamed to `drinkName`'],
    ['of a name that is like it', { total: amount }, { totals: amount }, 'looks renamed to `totals`'],
    ['the likeliest of several', { price: text }, { prices: text, priced_at: text }, 'looks renamed to `prices`'],
    ['nothing like it', { price: amount }, { colour: text }, undefined],
    ['nothing new at all', { price: amount, name: text }, { name: text }, undefined],
  ])('%s', (_what, old, now, hint) => {
    expect(hintsBetween(old, now)).toEqual([hint]);
  });
});

describe('a route that is gone', () => {
  const contract = (path: string, method: string, operationId?: string) => ({
    openapi: '3.1.0',
    paths: { [path]: { [method]: { operationId, responses: {} } } },
  });

  it.each([
    [
      'a path that is like it',
      contract('/drinks', 'get'),
      contract('/api/drinks', 'get'),
      'looks renamed to `GET /api/drinks`',
    ],
    [
      'the same operationId',
      contract('/a', 'get', 'list'),
      contract('/menu', 'get', 'list'),
      'looks renamed to `GET /menu`',
    ],
    ['another method', contract('/drinks', 'get'), contract('/drinks', 'post'), undefined],
    ['nothing like it', contract('/drinks', 'get'), contract('/menu', 'get'), undefined],
  ])('%s', (_what, old, now, hint) => {
    const [gone] = findingsBetween(old, now);
    expect(gone?.rule).toBe('route-removed');
    expect(gone?.hint).toBe(hint);
  });
});

describe('likeness', () => {
  it.each([
    ['drink_name', 'drinkName', 1],
    ['', '', 1],
    ['a', 'b', 0],
    ['night', 'nacht', 0.25],
  ])('of %j and %j is %d', (a, b, expected) => {
    expect(likeness(lettersOf(a), lettersOf(b))).toBe(expected);
    expect(likeness(lettersOf(b), lettersOf(a))).toBe(expected);
  });
});
