import { describe, expect, it } from 'vitest';
import { completeDays, trendOf } from '../../../gateway/usage/report/trend.ts';

const day = 86_400_000;
const now = Date.parse('2026-11-21T12:00:00Z');
const today = Date.parse('2026-11-21T00:00:00Z');

/** The last days before today. */
function daysOf(...requests: number[]) {
  return requests.map((count, index) => ({ at: today - (requests.length - index) * day, requests: count }));
}

describe('the complete days', () => {
  it('are none if the ledger is empty', () => expect(completeDays(daysOf(1, 2), undefined, now)).toEqual([]));

  it('begin with the first whole day of the ledger', () => {
    const days = completeDays([], today - 3 * day + 1, now);
    expect(days.map(({ at }) => (at - today) / day)).toEqual([-2, -1]);
  });

  it('are 30 at most, without today', () => {
    const days = completeDays([{ at: today, requests: 9 }], today - 400 * day, now);
    expect([days.length, days[0]?.at, days.at(-1)?.at]).toEqual([30, today - 30 * day, today - day]);
    expect(days.every(({ requests }) => requests === 0)).toBe(true);
  });

  it('add up counts of the same day, and are never negative', () => {
    const at = today - day;
    const counts = [
      { at, requests: 5 },
      { at, requests: -2 },
      { at: at - day, requests: -1 },
    ];
    expect(completeDays(counts, at - day, now).map(({ requests }) => requests)).toEqual([0, 3]);
  });
});

const weeks = (...ofEach: number[][]): number[] => ofEach.flat();
const times = (count: number, requests: number): number[] => new Array<number>(count).fill(requests);
const line = (from: number, step: number, count: number): number[] =>
  Array.from({ length: count }, (_one, index) => from + step * index);
/** Five working days and two days off; `offset`: the weekday of the first. */
const office = (count: number, offset: number, share: (index: number) => number = () => 1): number[] =>
  Array.from({ length: count }, (_one, index) => Math.round(((index + offset) % 7 < 5 ? 1000 : 10) * share(index)));

describe('the trend', () => {
  it.each<[string, number[], string, string | undefined]>([
    ['no days', [], 'unknown', undefined],
    ['less than two weeks', line(1300, -100, 13), 'unknown', undefined],
    ['one week and its weekend', office(7, 0), 'unknown', undefined],
    ['no requests', times(7, 0), 'none', undefined],
    ['no requests for a week', weeks(times(20, 500), times(7, 0)), 'none', undefined],
    ['flat', times(14, 5), 'not falling', undefined],
    ['rising', line(1, 1, 14), 'not falling', undefined],
    ['so slow that it is flat', line(3000, -3, 30), 'not falling', undefined],
    ['a step that was two weeks ago', weeks(times(15, 1000), times(15, 50)), 'not falling', undefined],
    ['a step seven days ago', weeks(times(23, 1000), times(7, 50)), 'not clear', undefined],
    ['a step eight days ago', weeks(times(22, 1000), times(8, 50)), 'not clear', undefined],
    ['a step nine days ago', weeks(times(21, 1000), times(9, 50)), 'not clear', undefined],
    ['a step ten days ago', weeks(times(20, 1000), times(10, 50)), 'not clear', undefined],
    ['a step twelve days ago', weeks(times(18, 1000), times(12, 50)), 'not clear', undefined],
    ['a step five days ago', weeks(times(25, 1000), times(5, 50)), 'not clear', undefined],
    ['a step up after a fall', weeks(times(20, 1000), line(100, 20, 10)), 'not clear', undefined],
    ['a fall that rises again', weeks(line(3000, -150, 20), line(200, 150, 10)), 'not falling', undefined],
    ['a fall of two weeks', line(1400, -100, 14), 'not clear', undefined],
    ['a handful a week', [1, 0, 2, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0], 'not clear', undefined],
    ['a fall to nothing in three days', line(30 * 22, -30, 20 + 1), 'falling', '2026-11-22'],
    ['a fall that reaches nothing today', line(3000, -100, 30), 'falling', '2026-11-21'],
    ['a slow fall', line(2000, -20, 30), 'falling', '2027-01-30'],
    ['a fall in halves', Array.from({ length: 28 }, (_one, day) => 1e5 / 2 ** (day / 7)), 'falling', undefined],
  ])('of %s: %s', (_what, requests, kind, zero) => {
    const trend = trendOf(daysOf(...requests), now);
    expect(trend.kind).toBe(kind);
    expect(trend.zero === undefined ? undefined : new Date(trend.zero).toISOString().slice(0, 10)).toBe(zero);
  });

  it.each([0, 1, 2, 3, 4, 5, 6])('is not affected by weekends, on weekday %d', (offset) => {
    const kindOf = (requests: number[]): string => trendOf(daysOf(...requests), now).kind;
    for (const count of [14, 20, 21, 27, 28, 30]) expect(kindOf(office(count, offset))).toBe('not falling');
    expect(kindOf(office(30, offset, (index) => 1 - index / 33))).toBe('falling');
    expect(kindOf(office(30, offset, (index) => 1 + index / 33))).toBe('not falling');
    expect(kindOf(office(30, offset, (index) => (index < 15 ? 1 : 0.05)))).toBe('not falling');
  });

  it('has no end while the last days do not fall, however long ago the requests dropped', () => {
    for (let since = 0; since <= 30; since++) {
      for (const low of [10, 50, 300, 700]) {
        const flat = trendOf(daysOf(...times(30 - since, 1000), ...times(since, low)), now);
        const rising = trendOf(daysOf(...times(30 - since, 1000), ...line(low, low / 10, since)), now);
        expect([since, low, flat.zero, rising.zero]).toEqual([since, low, undefined, undefined]);
      }
    }
  });

  it('changes from one day to the next', () => {
    expect(trendOf(daysOf(...line(3000, -100, 30)), now).perDay).toBeCloseTo(-100);
  });
});
