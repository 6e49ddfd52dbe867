import { describe, expect, it } from 'vitest';
import { Pool, RetryBudget } from '../../../gateway/proxy/upstream/pool.ts';
import { Target } from '../../../gateway/proxy/upstream/target.ts';
import { TargetLimits } from '../../../gateway/proxy/upstream/targetLimits.ts';

const limitOf = (perTarget: number): TargetLimits => new TargetLimits(perTarget);

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
    const picked = expected.map(() => pool.pick(limitOf(2)));
    expect(picked.map((target) => (target ? all.indexOf(target) : -1))).toEqual(expected);
  });

  it('picks a target again as soon as it is below the limit', () => {
    const [only] = targets(2);
    const pool = poolOf(only ? [only] : []);
    expect(pool.pick(limitOf(2))).toBeUndefined();
    if (only) only.inFlight -= 1;
    expect(pool.pick(limitOf(2))).toBe(only);
  });
});

it('a pool picks the target that failed only if it is the only one', () => {
  const [first, second] = targets(0, 0);
  const both = poolOf([first, second].filter((target) => target !== undefined));
  expect([
    both.pick(limitOf(2), undefined, first),
    both.pick(limitOf(2), undefined, first),
    both.pick(limitOf(2), undefined, second),
  ]).toEqual([second, second, first]);
  const alone = poolOf([first].filter((target) => target !== undefined));
  expect(alone.pick(limitOf(2), undefined, first)).toBe(first);
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

function budgetOf(budget: number, budgetMin: number): RetryBudget {
  const one = new RetryBudget();
  one.configure({ budget, budgetMin });
  return one;
}

/** The number of retries it grants in a row at `now`. */
function granted(budget: RetryBudget, now: number): number {
  let count = 0;
  while (count < 1000 && budget.takeRetry(now)) count += 1;
  return count;
}

describe('a retry budget', () => {
  it.each([
    ['nothing', 0, 0, 100, 0],
    ['a share of the requests', 0.2, 0, 100, 20],
    ['whole retries only', 0.2, 0, 9, 1],
    ['a minimum without any request', 0.2, 3, 0, 30],
    ['both together', 0.2, 3, 100, 50],
    ['as many as there are requests', 1, 0, 7, 7],
  ])('grants %s', (_name, share, minimum, requests, expected) => {
    const budget = budgetOf(share, minimum);
    for (let count = 0; count < requests; count += 1) budget.countRequest(5_000);
    expect(granted(budget, 5_999)).toBe(expected);
    expect(budget.granted).toBe(expected);
    expect(budget.refused).toBe(1);
  });

  it.each([
    [9_999, 10],
    [10_000, 0],
    [10_999, 0],
    [1_000_000, 0],
  ])('at %i ms, the requests of the first second allow %i retries', (now, expected) => {
    const budget = budgetOf(0.5, 0);
    for (let count = 0; count < 20; count += 1) budget.countRequest(999);
    expect(granted(budget, now)).toBe(expected);
  });

  it('forgets retries second by second after ten seconds', () => {
    const budget = budgetOf(0, 0.2);
    expect([budget.takeRetry(0), budget.takeRetry(4_000), budget.takeRetry(9_999)]).toEqual([true, true, false]);
    expect([budget.takeRetry(10_000), budget.takeRetry(10_000), budget.takeRetry(14_000)]).toEqual([true, false, true]);
  });

  it('keeps its counts when it is configured again', () => {
    const budget = budgetOf(0.5, 0);
    for (let count = 0; count < 20; count += 1) budget.countRequest(0);
    expect(granted(budget, 0)).toBe(10);
    budget.configure({ budget: 0.6, budgetMin: 0 });
    expect(granted(budget, 0)).toBe(2);
  });

  it('refuses nothing before it is configured', () => expect(granted(new RetryBudget(), 0)).toBe(1000));
});
