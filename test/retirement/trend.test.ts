import { describe, expect, it } from 'vitest';
import { completeDays, trendOf } from '../../gateway/retirement/trend.ts';

const day = 86_400_000;
const now = Date.parse('2026-11-21T12:00:00Z');
const today = Date.parse('2026-11-21T00:00:00Z');

/** The last days before today. */
function daysOf(...requests: number[]) {
  return requests.map((count, index) => ({ at: today - (requests.length - index) * day, requests: count }));
}

describe('the days that count', () => {
  it('are none while nothing is covered', () => expect(completeDays(daysOf(1, 2), undefined, now)).toEqual([]));

  it('begin with the first whole day of the ledger', () => {
    const days = completeDays([], today - 3 * day + 1, now);
    expect(days.map(({ at }) => (at - today) / day)).toEqual([-2, -1]);
  });

  it('are 30 at most, without today', () => {
    const days = completeDays([{ at: today, requests: 9 }], today - 400 * day, now);
    expect([days.length, days[0]?.at, days.at(-1)?.at]).toEqual([30, today - 30 * day, today - day]);
    expect(days.every(({ requests }) => requests === 0)).toBe(true);
  });

  it('add up what is counted apart, and never fall below nothing', () => {
    const at = today - day;
    const counts = [
      { at, requests: 5 },
      { at, requests: -2 },
      { at: at - day, requests: -1 },
    ];
    expect(completeDays(counts, at - day, now).map(({ requests }) => requests)).toEqual([0, 3]);
  });
});

describe('the trend', () => {
  it.each([
    ['no days', [], 'unknown', undefined],
    ['too few', [60, 50, 40, 30, 20, 10], 'unknown', undefined],
    ['nobody', [0, 0, 0, 0, 0, 0, 0], 'none', undefined],
    ['flat', [5, 5, 5, 5, 5, 5, 5], 'not falling', undefined],
    ['rising', [1, 2, 3, 4, 5, 6, 7], 'not falling', undefined],
    ['so slow that it is flat', [1000, 1000, 1000, 1000, 1000, 1000, 999], 'not falling', undefined],
    ['falling to nothing in three days', [90, 80, 70, 60, 50, 40, 30], 'falling', '2026-11-23'],
    ['at nothing today', [70, 60, 50, 40, 30, 20, 10], 'falling', '2026-11-21'],
    ['a steep fall whose line has crossed already', [900, 0, 0, 0, 0, 0, 1], 'falling', '2026-11-21'],
  ])('of %s: %s', (_what, requests, kind, zero) => {
    const trend = trendOf(daysOf(...requests), now);
    expect(trend.kind).toBe(kind);
    expect(trend.zero === undefined ? undefined : new Date(trend.zero).toISOString().slice(0, 10)).toBe(zero);
  });

  it('counts by the day', () => {
    expect(trendOf(daysOf(90, 80, 70, 60, 50, 40, 30), now).perDay).toBeCloseTo(-10);
  });
});
