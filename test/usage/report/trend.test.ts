import { describe, expect, it } from 'vitest';
import { completeDays, type Trend, trendOf } from '../../../gateway/usage/report/trend.ts';
import type { PastClient } from '../../../gateway/usage/usageQueries.ts';

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
    const days = completeDays([], today - 2 * day, now);
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

/** The trend of these requests. `clients`: the days since the last call of each client, and its usual pause in days. */
function trendWith(
  requests: readonly number[],
  clients: readonly (readonly [daysAgo: number, pause: number])[] = [],
): Promise<Trend> {
  return trendOf(daysOf(...requests), now, async (shortestPause) =>
    clients.map(([daysAgo, pause], index): PastClient => {
      const usualPause = pause * day < 0.75 * shortestPause ? undefined : pause * day;
      const last = now - daysAgo * day;
      return { client: `client-${index}`, name: undefined, requests: 9, first: last - 90 * day, last, usualPause };
    }),
  );
}

const dayOf = (instant: number | undefined): string | undefined =>
  instant === undefined ? undefined : new Date(instant).toISOString().slice(0, 10);

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
    ['a fall of too few requests', [...times(7, 7), ...times(7, 4), ...times(7, 2)], 'not clear', undefined],
  ])('of %s: %s', async (_what, requests, kind, zero) => {
    const trend = await trendWith(requests);
    expect([trend.kind, dayOf(trend.zero)]).toEqual([kind, zero]);
  });

  it.each([0, 1, 2, 3, 4, 5, 6])('is not affected by weekends, on weekday %d', async (offset) => {
    const kindOf = async (requests: number[]): Promise<string> => (await trendWith(requests)).kind;
    for (const count of [14, 20, 21, 27, 28, 30]) expect(await kindOf(office(count, offset))).toBe('not falling');
    expect(await kindOf(office(30, offset, (index) => 1 - index / 33))).toBe('falling');
    expect(await kindOf(office(30, offset, (index) => 1 + index / 33))).toBe('not falling');
    expect(await kindOf(office(30, offset, (index) => (index < 15 ? 1 : 0.05)))).toBe('not falling');
  });

  it('has no end while the last days do not fall, however long ago the requests dropped', async () => {
    for (let since = 0; since <= 30; since++) {
      for (const low of [10, 50, 300, 700]) {
        const flat = await trendWith([...times(30 - since, 1000), ...times(since, low)]);
        const rising = await trendWith([...times(30 - since, 1000), ...line(low, low / 10, since)]);
        expect([since, low, flat.zero, rising.zero]).toEqual([since, low, undefined, undefined]);
      }
    }
  });

  it('changes from one day to the next', async () => {
    expect((await trendWith(line(3000, -100, 30))).perDay).toBeCloseTo(-100);
  });

  // At its rate, this fall reaches nothing on 27 November.
  const fall = line(3600, -100, 30);

  it('has no end beside 12 clients that call every 6 to 10 days', async () => {
    expect(dayOf((await trendWith(fall)).zero)).toBe('2026-11-27');
    const rhythms = times(12, 0).map((_zero, index) => [index % 5, 6 + (index % 5)] as const);
    const { kind, zero, pausing } = await trendWith(fall, rhythms);
    expect([kind, zero, pausing]).toEqual([
      'falling',
      undefined,
      { count: 12, shortest: 6 * day, longest: 10 * day, expectedUntil: now + 16 * day },
    ]);
  });

  it('has an end if the clients with long pauses are overdue', async () => {
    expect(dayOf((await trendWith(fall, [[21, 10]])).zero)).toBe('2026-11-27');
    expect((await trendWith(fall, [[19, 10]])).zero).toBeUndefined();
  });

  it('has no end before the silence of every client is longer than its usual pauses', async () => {
    expect(dayOf((await trendWith(fall, [[0, 5]])).zero)).toBe('2026-12-02');
    expect(dayOf((await trendWith(fall, [[1, 3]])).zero)).toBe('2026-11-27');
    // For any rhythms.
    for (let seed = 1; seed < 400; seed++) {
      const rhythms = Array.from({ length: 1 + (seed % 7) }, (_one, index) => {
        return [((seed * 7 + index * 3) % 130) / 10, ((seed * 13 + index * 5) % 240) / 10 + 0.1] as const;
      });
      const { zero, pausing } = await trendWith(fall, rhythms);
      const expected = rhythms.filter(([ago, pause]) => ago <= 2 * pause && pause >= 1.5);
      expect(pausing?.count ?? 0).toBe(expected.filter(([, pause]) => pause >= 5.25).length);
      for (const [ago, pause] of expected)
        expect(zero ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(now + (2 * pause - ago) * day);
    }
  });

  it('asks for the clients only if the requests fall to an end', async () => {
    const never = () => Promise.reject(new Error('The clients were read.'));
    for (const requests of [[], times(30, 5), line(1400, -100, 14)])
      expect((await trendOf(daysOf(...requests), now, never)).zero).toBeUndefined();
  });
});
