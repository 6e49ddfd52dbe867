import { describe, expect, it } from 'vitest';
import { pairsIn, similarity } from '../../../gateway/compat/judge/findings.ts';
import { contractOf, findingsBetween } from '../support/comparing.ts';

const [text, amount] = [{ type: 'string' }, { type: 'number' }];

function renamesBetween(old: object, now: object): (string | undefined)[] {
  const [before, after] = [old, now].map((properties) => contractOf('response', { type: 'object', properties }));
  return findingsBetween(before, after)
    .filter(({ rule }) => rule === 'response-field-removed')
    .map(({ renamedTo }) => renamedTo);
}

describe('a removed field, with', () => {
  it.each([
    ['another spelling', { drink_name: text }, { drinkName: text }, 'drinkName'],
    ['a similar name', { total: amount }, { totals: amount }, 'totals'],
    ['several similar names', { price: text }, { prices: text, priced_at: text }, 'prices'],
    ['no similar name', { price: amount }, { colour: text }, undefined],
    ['nothing added', { price: amount, name: text }, { name: text }, undefined],
  ])('%s', (_what, old, now, name) => {
    expect(renamesBetween(old, now)).toEqual([name]);
  });
});

describe('a removed route, with', () => {
  const contract = (path: string, method: string, operationId?: string) => ({
    openapi: '3.1.0',
    paths: { [path]: { [method]: { operationId, responses: {} } } },
  });

  it.each([
    ['a similar path', contract('/drinks', 'get'), contract('/api/drinks', 'get'), 'GET /api/drinks'],
    ['the same operationId', contract('/a', 'get', 'list'), contract('/menu', 'get', 'list'), 'GET /menu'],
    ['another method', contract('/drinks', 'get'), contract('/drinks', 'post'), undefined],
    ['no similar name', contract('/drinks', 'get'), contract('/menu', 'get'), undefined],
  ])('%s', (_what, old, now, name) => {
    const [removed] = findingsBetween(old, now);
    expect(removed?.rule).toBe('route-removed');
    expect(removed?.renamedTo).toBe(name);
  });
});

describe('similarity', () => {
  it.each([
    ['drink_name', 'drinkName', 1],
    ['', '', 1],
    ['a', 'b', 0],
    ['night', 'nacht', 0.25],
  ])('of %j and %j is %d', (a, b, expected) => {
    expect(similarity(pairsIn(a), pairsIn(b))).toBe(expected);
    expect(similarity(pairsIn(b), pairsIn(a))).toBe(expected);
  });
});
