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
   * The first day without requests at this rate: its start in UTC, today at the earliest. Undefined if the requests do not
   * fall, or if their fall slows down.
   */
  readonly zero: number | undefined;
  /** Complete days, oldest first, including those without requests. */
  readonly days: readonly Day[];
}

export interface Day {
  /** Its start, in UTC. */
  readonly at: number;
  readonly requests: number;
}

/**
 * The complete days before `now` that the ledger covers, at most 30. `counts` may lack days without requests, and have several
 * counts of a day. Negative counts subtract the requests of ignored clients.
 */
export function completeDays(counts: readonly Day[], coveredSince: number | undefined, now: number): Day[] {
  if (coveredSince === undefined) return [];
  // Without today: an incomplete day would always look like a fall.
  const today = Math.floor(now / dayMs) * dayMs;
  const firstDay = Math.max(Math.ceil(coveredSince / dayMs) * dayMs, today - maxDays * dayMs);
  const requestsByDay = new Map<number, number>();
  for (const { at, requests } of counts) requestsByDay.set(at, (requestsByDay.get(at) ?? 0) + requests);
  const days: Day[] = [];
  for (let at = firstDay; at < today; at += dayMs) days.push({ at, requests: Math.max(0, requestsByDay.get(at) ?? 0) });
  return days;
}

export function trendOf(days: readonly Day[], now: number): Trend {
  const noFall = { perDay: undefined, zero: undefined, days };
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
  return { kind: 'falling', perDay: -daily.perDay, zero, days };
}

// A week with at least this share of the requests of the week before does not count as a fall.
const noFallShare = 0.95;
// A fall is steady if each of the last two weekly decreases is less than three times the other one.
const maxRatio = 3;
// This many of the seven weekdays must have fewer requests than a week ago.
const minDaysDown = 5;
// The last two days must still fall, whatever happened before.
const recentDays = 2;
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
