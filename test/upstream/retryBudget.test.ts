import { describe, expect, it } from 'vitest';
import { RetryBudget } from '../../gateway/upstream/retryBudget.ts';

function budgetOf(budget: number, budgetMin: number): RetryBudget {
  const one = new RetryBudget();
  one.configure({ budget, budgetMin });
  return one;
}

/** The number of retries it grants in a row at `now`. */
function granted(budget: RetryBudget, now: number): number {
  let count = 0;
  while (count < 1000 && budget.take(now)) count += 1;
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
    for (let count = 0; count < requests; count += 1) budget.count(5_000);
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
    for (let count = 0; count < 20; count += 1) budget.count(999);
    expect(granted(budget, now)).toBe(expected);
  });

  it('forgets retries second by second after ten seconds', () => {
    const budget = budgetOf(0, 0.2);
    expect([budget.take(0), budget.take(4_000), budget.take(9_999)]).toEqual([true, true, false]);
    expect([budget.take(10_000), budget.take(10_000), budget.take(14_000)]).toEqual([true, false, true]);
  });

  it('keeps its counts when it is configured again', () => {
    const budget = budgetOf(0.5, 0);
    for (let count = 0; count < 20; count += 1) budget.count(0);
    expect(granted(budget, 0)).toBe(10);
    budget.configure({ budget: 0.6, budgetMin: 0 });
    expect(granted(budget, 0)).toBe(2);
  });

  it('refuses nothing before it is configured', () => expect(granted(new RetryBudget(), 0)).toBe(1000));
});
