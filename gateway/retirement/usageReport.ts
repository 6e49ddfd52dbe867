import type { UsageQueries } from '../usage/queries.ts';
import { pageOf, type UsagePage } from './usagePage.ts';
import { type Row, rowsBy, withDays } from './usageRows.ts';

export const groupings = ['version', 'client', 'route', 'day', 'migration'] as const;
export type Grouping = (typeof groupings)[number];

/** What is asked of the ledger. */
export interface UsageQuestion {
  readonly by: Grouping;
  /** The segment; undefined: every version. */
  readonly version: string | undefined;
  /** Epoch ms. */
  readonly since: number;
  readonly until: number;
  readonly step: 'hour' | 'day';
  /** Where the clients of a version go; undefined: nowhere. */
  readonly successor: (version: string) => string | undefined;
  /** Undefined: all rows. */
  readonly page?: UsagePage | undefined;
}

/** As `/api/usage` answers it: instants as RFC 3339. */
export interface UsageReport {
  readonly by: Grouping;
  readonly version: string | null;
  readonly step: 'hour' | 'day';
  readonly since: string;
  readonly until: string;
  /** Null: the ledger holds nothing. */
  readonly covered_since: string | null;
  /** What keeps the ledger from being written or read. */
  readonly problem: string | null;
  /** That, and whatever else is not well. */
  readonly problems: readonly string[];
  /** Requests of clients that were too many to be told apart. */
  readonly folded: number;
  /** Rows that wait in memory until they can be written. */
  readonly held: number;
  /** Rows that there are; `rows` may be a page of them. */
  readonly total: number;
  /** Without `filter` and `state`. */
  readonly total_unfiltered: number;
  readonly rows: readonly Row[];
}

/** What is wrong with the ledger is in `problem`, and then rows may be missing. */
export function usageReport(queries: UsageQueries, question: UsageQuestion): UsageReport {
  const { by, version, step, since, until } = question;
  const covered = queries.coveredSince();
  const all = rowsBy[by](queries, question);
  const { rows, total } = pageOf(all, question.page ?? {});
  const shown = by === 'client' ? withDays(rows, queries, since) : rows;
  const folded = queries.folded(since, version);
  return {
    by,
    version: version ?? null,
    step,
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    covered_since: covered === undefined ? null : new Date(covered).toISOString(),
    // Asked last: it tells of the questions above, too.
    problem: queries.problem ?? null,
    problems: queries.problems,
    folded,
    held: queries.held,
    total,
    total_unfiltered: all.length,
    rows: shown,
  };
}
