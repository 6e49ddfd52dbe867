const dayMs = 86_400_000;
/** How far back the daily counts go. */
const longest = 30;
// Less than a week says nothing: weekends are quiet without anybody having left.
const fewest = 7;
/** Days; a line that comes down more slowly than that is flat. */
const horizon = 730;

/** Where the daily requests of a version are heading. */
export interface Trend {
  /** `unknown`: too few complete days; `none`: nobody asked in any of them. */
  readonly kind: 'falling' | 'not falling' | 'unknown' | 'none';
  /** Requests a day that each day has more than the one before; undefined where it is not known. */
  readonly perDay: number | undefined;
  /** Where the line reaches nothing: the start of a day in UTC, today at the earliest. Only when falling. */
  readonly zero: number | undefined;
  /** Complete days, oldest first, those without requests included. */
  readonly days: readonly Day[];
}

export interface Day {
  /** When it begins, in UTC. */
  readonly at: number;
  readonly requests: number;
}

/** The last complete days before `now` that the ledger covers, 30 at most; `counts` may leave out those without requests. */
export function completeDays(counts: readonly Day[], coveredSince: number | undefined, now: number): Day[] {
  if (coveredSince === undefined) return [];
  // Today is left out: a day that has only begun would always look like a fall.
  const today = Math.floor(now / dayMs) * dayMs;
  const first = Math.max(Math.ceil(coveredSince / dayMs) * dayMs, today - longest * dayMs);
  const known = new Map<number, number>();
  for (const { at, requests } of counts) known.set(at, (known.get(at) ?? 0) + requests);
  const days: Day[] = [];
  for (let at = first; at < today; at += dayMs) days.push({ at, requests: Math.max(0, known.get(at) ?? 0) });
  return days;
}

/** The least-squares line through the days, and the day on which it reaches zero. */
export function trendOf(days: readonly Day[], now: number): Trend {
  const { length } = days;
  const first = days[0];
  if (first === undefined || length < fewest) return { kind: 'unknown', perDay: undefined, zero: undefined, days };
  const meanX = (length - 1) / 2;
  const meanY = days.reduce((sum, { requests }) => sum + requests, 0) / length;
  if (meanY === 0) return { kind: 'none', perDay: 0, zero: undefined, days };
  let covariance = 0;
  let variance = 0;
  for (const [x, { requests }] of days.entries()) {
    covariance += (x - meanX) * (requests - meanY);
    variance += (x - meanX) ** 2;
  }
  const perDay = covariance / variance;
  const crossing = meanX - meanY / perDay;
  const isFalling = perDay < 0 && crossing - length < horizon;
  if (!isFalling) return { kind: 'not falling', perDay, zero: undefined, days };
  const today = Math.floor(now / dayMs) * dayMs;
  return { kind: 'falling', perDay, zero: Math.max(first.at + Math.ceil(crossing) * dayMs, today), days };
}
