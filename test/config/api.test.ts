import { describe, expect, it } from 'vitest';
import { baseOf, compareIds, idIn, isId, majorOf, segmentOf } from '../../gateway/config/api.ts';

describe('the id of a version', () => {
  it.each([
    ['v1', '', 'v1', 1],
    ['v0', '', 'v0', 0],
    ['orders/v12', '/orders', 'v12', 12],
    ['legacy/orders.eu/v3', '/legacy/orders.eu', 'v3', 3],
    ['a/b/c/d/v1', '/a/b/c/d', 'v1', 1],
    ['vegetables/v2', '/vegetables', 'v2', 2],
  ])('%s', (id, base, segment, major) => {
    expect(isId(id)).toBe(true);
    expect([baseOf(id), segmentOf(id), majorOf(id)]).toEqual([base, segment, major]);
    expect(idIn(base, segment)).toBe(id);
  });

  it.each([
    '',
    'v',
    'V1',
    'v01',
    '/v1',
    'v1/',
    'orders',
    'orders/',
    'orders//v1',
    'v1/v2',
    'V1/v2',
    'v2-beta/v1',
    'a/b/c/d/e/v1',
    'or%64ers/v1',
    'orders/v1\n',
    'orders/v12345678901234567',
  ])('is not %j', (text) => {
    expect(isId(text)).toBe(false);
  });

  it('is sorted by API, then by major, the API at the root first', () => {
    const sorted = ['v1', 'v2', 'v10', 'a/v10', 'a/b/v1', 'orders/v2', 'orders/v11'];
    for (let turn = 0; turn < sorted.length; turn += 1) {
      const mixed = [...sorted.slice(turn), ...sorted.slice(0, turn)].reverse();
      expect(mixed.sort(compareIds)).toEqual(sorted);
    }
  });
});
