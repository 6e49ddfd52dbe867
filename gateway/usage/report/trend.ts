import { expectedUntil } from '../rhythm.ts';
import type { PastClient } from '../usageQueries.ts';

const dayMs = 86_400_000;
const weekDays = 7;
const maxDays = 30;
// Two whole weeks: in a shorter time, a weekend looks like a fall.
const minDays = 14;

/** The trend of a version's daily requests. */
export interface Trend {
  /**
   * `none`: no requests in the last seven days; `unknown`: too few complete days; `not clear`: the requests are fewer, but
   * do not fall steadily.
   */
  readonly kind: 'falling' | 'not falling' | 'not clear' | 'unknown' | 'none';
  /** The change of the daily requests from one day to the next, negative; undefined unless they fall. */
  readonly perDay: number | undefined;
  /**
   * The first day without requests at this rate: its start in UTC, today at the earliest, and not before the silence of every client
   * would be longer than its usual pauses explain. Undefined if the requests do not fall, if their fall slows down, or if there are
   * `pausing` clients.
   */
  readonly zero: number | undefined;
  /** Undefined: there are none, or the requests have no predictable end anyway. */
  readonly pausing: PausingClients | undefined;
  /** Complete days, oldest first, including those without requests. */
  readonly days: readonly Day[];
}

/**
 * Clients that usually pause for about a week or longer, and are not overdue. The requests of three weeks do not show whether such
 * a client leaves: it may have called only twice in that time.
 */
export interface PausingClients {
  readonly count: number;
  /** The shortest and the longest of their usual pauses, ms. */
  readonly shortest: number;
  readonly longest: number;
  /** When the last of them is overdue if none of them calls again, epoch ms. */
  readonly expectedUntil: number;
}

export interface Day {
  /** Its start, in UTC. */
  readonly at: number;
  readonly requests: number;
}

/**
 * The complete days before `now`, at most 30, from `firstDay` on: the first one that the ledger covers, or undefined if it is empty.
 * `counts` may lack days without requests, and have several counts of a day. Negative counts subtract the requests of ignored clients.
 */
export function completeDays(counts: readonly Day[], firstDay: number | undefined, now: number): Day[] {
  if (firstDay === undefined) return [];
  // Without today: an incomplete day would always look like a fall.
  const today = Math.floor(now / dayMs) * dayMs;
  const from = Math.max(firstDay, today - maxDays * dayMs);
  const requestsByDay = new Map<number, number>();
  for (const { at, requests } of counts) requestsByDay.set(at, (requestsByDay.get(at) ?? 0) + requests);
  const days: Day[] = [];
  for (let at = from; at < today; at += dayMs) days.push({ at, requests: Math.max(0, requestsByDay.get(at) ?? 0) });
  return days;
}

/** The current clients of the version, with those pauses that are usual and last for about `shortestPause` ms or longer. */
type ClientsWithPauses = (shortestPause: number) => Promise<readonly PastClient[]>;

/** `clientsWithPauses` is called only if the requests fall to a predictable end, because the query may be slow. */
export async function trendOf(days: readonly Day[], now: number, clientsWithPauses: ClientsWithPauses): Promise<Trend> {
  const trend = trendOfDays(days, now);
  const { zero } = trend;
  if (zero === undefined) return trend;
  const isExpected = (one: PastClient): boolean => one.usualPause !== undefined && now <= expectedUntil(one);
  const pausing = (await clientsWithPauses(weekDays * dayMs)).filter(isExpected);
  if (pausing.length > 0) return { ...trend, zero: undefined, pausing: summaryOf(pausing) };
  // In every week, clients with shorter pauses make about the same number of calls. But no client has left before it is overdue.
  const expected = (await clientsWithPauses(shortestRelevantPause)).filter(isExpected).map(expectedUntil);
  const firstOverdueDay = Math.ceil(Math.max(0, ...expected) / dayMs) * dayMs;
  return { ...trend, zero: Math.max(zero, firstOverdueDay) };
}

// Clients of working days pause for a weekend. Shorter pauses change the predicted day by a day at most.
const shortestRelevantPause = 2 * dayMs;

function summaryOf(clients: readonly PastClient[]): PausingClients {
  const pauses = clients.map(({ usualPause = 0 }) => usualPause);
  return {
    count: clients.length,
    shortest: Math.min(...pauses),
    longest: Math.max(...pauses),
    expectedUntil: Math.max(...clients.map(expectedUntil)),
  };
}

function trendOfDays(days: readonly Day[], now: number): Trend {
  const noFall = { perDay: undefined, zero: undefined, pausing: undefined, days };
  const requests = days.map((one) => one.requests);
  if (days.length >= weekDays && requests.slice(-weekDays).every((one) => one === 0))
    return { kind: 'none', ...noFall };
  if (days.length < minDays) return { kind: 'unknown', ...noFall };
  const daily = dailyTrendOf(requests);
  if (daily.kind !== 'falling') return { kind: daily.kind === 'not clear' ? 'not clear' : 'not falling', ...noFall };
  const today = Math.floor(now / dayMs) * dayMs;
  // The average of the last week is the value of its middle day, which is four days before today.
  const daysLeft = Math.ceil(daily.level / daily.perDay - 4);
  const zero = daily.isSlowing ? undefined : today + Math.max(0, daysLeft) * dayMs;
  return { kind: 'falling', perDay: -daily.perDay, zero, pausing: undefined, days };
}

// A week with at least this share of the requests of the week before does not count as a fall.
const noFallShare = 0.95;
// A fall is steady if each of the last two weekly decreases is less than three times the other one.
const maxRatio = 3;
// This many of the seven weekdays must have fewer requests than a week ago.
const minDaysDown = 5;
// The last two days must still fall, whatever happened before.
const recentDays = 2;
// Fewer requests than this in three weeks are too few for a line through three weekly sums.
const minRequests = 100;
// A fall slows down if the last weekly decrease is below this share of the previous one. No straight line predicts its end.
const slowingRatio = 0.7;

/** The direction of the daily requests. */
type DailyTrend =
  | { readonly kind: 'ended' | 'not falling' | 'not clear' }
  /** `perDay`: the decrease from one day to the next; `level`: the average daily requests of the last week. */
  | { readonly kind: 'falling'; readonly perDay: number; readonly level: number; readonly isSlowing: boolean };

/**
 * Classifies daily requests, oldest first, of at least two whole weeks. Days are compared with the same weekday only,
 * because weekends are quiet without any client leaving. Only the last three weeks count: requests that dropped once and
 * stay there are not falling any more.
 */
function dailyTrendOf(days: readonly number[]): DailyTrend {
  const [earliest, previous, last] = [3, 2, 1].map((ago) => weekOf(days, ago));
  if (previous === undefined || last === undefined) return { kind: 'not clear' };
  const [previousSum, lastSum] = [sum(previous), sum(last)];
  if (lastSum === 0) return { kind: 'ended' };
  if (lastSum >= noFallShare * previousSum) return { kind: 'not falling' };
  if (earliest === undefined) return { kind: 'not clear' };
  const earliestSum = sum(earliest);
  const [earlierDecrease, lastDecrease] = [earliestSum - previousSum, previousSum - lastSum];
  // A decrease below twice the standard deviation of the difference of two Poisson counts may be chance. The decrease of two weeks must
  // also be larger than the sum of two weekly decreases that are each too small to count as a fall.
  const isSignificant =
    earliestSum + previousSum + lastSum >= minRequests &&
    earlierDecrease + lastDecrease > 2 * Math.sqrt(earliestSum + lastSum) &&
    earlierDecrease + lastDecrease > (1 - noFallShare ** 2) * earliestSum;
  const isSteadyFall =
    earlierDecrease > 0 && lastDecrease < maxRatio * earlierDecrease && earlierDecrease < maxRatio * lastDecrease;
  if (!isSignificant || !isSteadyFall || !fallsByWeekday(previous, last)) return { kind: 'not clear' };
  // The last decrease has twice the weight of the earlier one. Both are decreases of weekly sums. Divided by 7, the result is the
  // decrease of the daily average in one week. Divided by 7 again, it is the decrease from one day to the next.
  const perDay = (earlierDecrease + 2 * lastDecrease) / 3 / weekDays ** 2;
  return {
    kind: 'falling',
    perDay,
    level: lastSum / weekDays,
    isSlowing: lastDecrease < slowingRatio * earlierDecrease,
  };
}

/**
 * Whether enough weekdays have fewer requests than in the week before, and the last two days still fall: the share by which they
 * decrease must be more than a third of the share by which the whole week decreases.
 */
function fallsByWeekday(previous: readonly number[], last: readonly number[]): boolean {
  const daysDown = last.filter((requests, index) => requests < (previous[index] ?? 0)).length;
  const recentShare = decreaseShare(previous.slice(-recentDays), last.slice(-recentDays));
  return daysDown >= minDaysDown && recentShare * maxRatio > decreaseShare(previous, last);
}

/** The decrease as a share of `previous`. */
function decreaseShare(previous: readonly number[], last: readonly number[]): number {
  return 1 - sum(last) / Math.max(1, sum(previous));
}

function weekOf(days: readonly number[], weeksAgo: number): readonly number[] | undefined {
  const from = days.length - weeksAgo * weekDays;
  return from < 0 ? undefined : days.slice(from, from + weekDays);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
