import { describe, expect, it } from 'vitest';
import type { Policy, PoolMember } from '../../../gateway/proxy/upstream/policies.ts';
import { leastRequests, policies, random, roundRobin } from '../../../gateway/proxy/upstream/policies.ts';
import { Target } from '../../../gateway/proxy/upstream/target.ts';

const tls = { ca: undefined, servername: undefined, verify: true };

/** Targets `a`, `b`, … with these weights and numbers of requests in flight. */
function members(weights: readonly number[], inFlight: readonly number[] = []): PoolMember[] {
  return weights.map((weight, index) => {
    const target = new Target(`http://${'abc'.charAt(index)}`, tls, undefined, 0);
    target.inFlight = inFlight[index] ?? 0;
    return { target, weight };
  });
}

function picks(policy: Policy, from: readonly PoolMember[], count: number): string {
  return Array.from({ length: count }, () => policy(from)?.target.authority ?? '-').join('');
}

describe.each(Object.entries(policies))('%s', (_name, create) => {
  it('picks nothing from an empty list', () => expect(create()([])).toBeUndefined());

  it('picks only given members, and each of them at some point', () => {
    const pool = members([1, 1, 1]);
    expect(new Set(picks(create(), pool, 200))).toEqual(new Set('abc'));
    expect(new Set(picks(create(), pool.slice(1), 200))).toEqual(new Set('bc'));
  });
});

it.each([
  [[1, 1, 1], 'abcabc'],
  [[3, 1], 'aabaaaba'],
  [[1, 2, 1], 'bacbbacb'],
])('round robin with weights %j goes %s', (weights, expected) =>
  expect(picks(roundRobin(), members(weights), expected.length)).toBe(expected),
);

it.each([
  [0, 'a'],
  [0.24, 'a'],
  [0.25, 'b'],
  [0.99, 'b'],
])('random with weights 1 and 3 takes for %d %s', (chance, expected) =>
  expect(
    picks(
      random(() => chance),
      members([1, 3]),
      1,
    ),
  ).toBe(expected),
);

it.each([
  ['the target with fewer requests', [1, 1], [5, 2], 'b'],
  ['the first drawn of two with equal requests', [1, 1], [2, 2], 'a'],
  ['the one with fewer for its weight', [1, 4], [2, 4], 'b'],
])('least requests takes %s', (_name, weights, inFlight, expected) =>
  expect(
    picks(
      leastRequests(() => 0),
      members(weights, inFlight),
      1,
    ),
  ).toBe(expected),
);
