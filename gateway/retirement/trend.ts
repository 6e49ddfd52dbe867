import { headingOf } from './heading.ts';

const dayMs = 86_400_000;
/** How far back the daily counts go. */
const longest = 30;
// Of fewer whole weeks nobody can tell a fall from a weekend.
const fewest = 14;

/** Where the daily requests of a version are heading. */
export interface Trend {
  /**
   * `none`: nobody asked in the last seven of them; `unknown`: too few complete days; `not clear`: they are fewer, but
   * nobody can say that it goes on.
   */
  readonly kind: 'falling' | 'not falling' | 'not clear' | 'unknown' | 'none';
  /** Requests a day that each day has more than the one before; undefined where it is not falling. */
  readonly perDay: number | undefined;
  /** When none would be left at this rate: the start of a day in UTC, today at the earliest. Only of a fall that does not slow down. */
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

/** What the last whole weeks say of the days to come. */
export function trendOf(days: readonly Day[], now: number): Trend {
  const nothing = { perDay: undefined, zero: undefined, days };
  const requests = days.map((one) => one.requests);
  if (days.length >= 7 && requests.slice(-7).every((one) => one === 0)) return { kind: 'none', ...nothing };
  if (days.length < fewest) return { kind: 'unknown', ...nothing };
  const heading = headingOf(requests);
  if (heading.kind === 'falling') {
    const today = Math.floor(now / dayMs) * dayMs;
    // The average of a week is that of its middle, which was three days before its last day.
    const left = Math.ceil(heading.level / heading.perDay - 4);
    const zero = heading.isSlowing ? undefined : today + Math.max(0, left) * dayMs;
    return { kind: 'falling', perDay: -heading.perDay, zero, days };
  }
  return { kind: heading.kind === 'not clear' ? 'not clear' : 'not falling', ...nothing };
}
