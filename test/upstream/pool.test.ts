import { describe, expect, it } from 'vitest';
import { Pool } from '../../gateway/upstream/pool.ts';
import { Target } from '../../gateway/upstream/target.ts';

const tls = { ca: undefined, servername: undefined, verify: true };

/** Targets with these numbers of requests in flight; none of them connects. */
function targets(...inFlight: number[]): Target[] {
  return inFlight.map((count, index) => {
    const target = new Target(`http://127.0.0.1:${3001 + index}`, tls, undefined, 0);
    target.inFlight = count;
    return target;
  });
}

function poolOf(all: readonly Target[]): Pool {
  return new Pool(
    all.map((target) => ({ target, weight: 1 })),
    'round_robin',
  );
}

describe('a pool', () => {
  it.each([
    ['one', [0], [0, 0, 0]],
    ['several, by its policy', [0, 0, 0], [0, 1, 2, 0, 1]],
    ['those below the limit', [0, 2, 0], [0, 2, 0, 2]],
    ['the only one below the limit', [2, 2, 1], [2, 2, 2]],
    ['none if all are at the limit', [2, 3], [-1, -1]],
    ['none of an empty list', [], [-1]],
  ])('picks %s', (_name, inFlight, expected) => {
    const all = targets(...inFlight);
    const pool = poolOf(all);
    const picked = expected.map(() => pool.pick(2));
    expect(picked.map((target) => (target ? all.indexOf(target) : -1))).toEqual(expected);
  });

  it('picks a target again as soon as it is below the limit', () => {
    const [only] = targets(2);
    const pool = poolOf(only ? [only] : []);
    expect(pool.pick(2)).toBeUndefined();
    if (only) only.inFlight -= 1;
    expect(pool.pick(2)).toBe(only);
  });
});

it('a pool picks the target that failed only if it is the only one', () => {
  const [first, second] = targets(0, 0);
  const both = poolOf([first, second].filter((target) => target !== undefined));
  expect([both.pick(2, first), both.pick(2, first), both.pick(2, second)]).toEqual([second, second, first]);
  const alone = poolOf([first].filter((target) => target !== undefined));
  expect(alone.pick(2, first)).toBe(first);
});

it.each([
  ['http://127.0.0.1:3001', '127.0.0.1:3001'],
  ['http://backend', 'backend'],
  ['http://backend:80', 'backend'],
  ['https://backend:443', 'backend'],
  ['https://backend:80', 'backend:80'],
  ['http://[::1]:3001', '[::1]:3001'],
])('the target %s gets the Host %s', (url, authority) =>
  expect(new Target(url, tls, undefined, 0).authority).toBe(authority),
);
