import type { Subject } from './schema.ts';
import { lengths, type Spans } from './spans.ts';

/** Added up over the spans that were asked for. Instants in epoch ms. */
export interface UsageSums {
  readonly requests: number;
  readonly errors: number;
  readonly served: number;
  readonly failing: number;
  readonly refused: number;
  readonly first: number;
  readonly last: number;
}

/**
 * The query for what each version, or each client or route of `version`, did in these spans, and its parameters. A row
 * has the number of the version, client or route as `id` and its name under the subject. `hasOutcomes`: false for a
 * ledger of an earlier release.
 */
export function facts(
  subject: Subject,
  spans: readonly Spans[],
  version?: string,
  hasOutcomes = true,
): [sql: string, values: (string | number)[]] {
  const outcomes = hasOutcomes ? 'failing, refused' : '0 AS failing, 0 AS refused';
  const id = subject === 'version' ? 'version' : 'item';
  const parts = spans.map(
    ({ length }) => `SELECT ${id} AS id, requests, errors, served, ${outcomes},
      span * ${lengths[length]} + first AS first, span * ${lengths[length]} + last AS last
      FROM ${subject}_${length}
      WHERE version IN (SELECT id FROM versions ${version === undefined ? '' : 'WHERE name = ?'})
        AND span BETWEEN ? AND ?`,
  );
  const sums = `SELECT id, SUM(requests) AS requests, SUM(errors) AS errors, SUM(served) AS served,
    SUM(failing) AS failing, SUM(refused) AS refused, MIN(first) AS first, MAX(last) AS last FROM (${parts.join(' UNION ALL ')}) GROUP BY id`;
  const sql = `SELECT sums.*, name AS ${subject} FROM (${sums}) AS sums JOIN ${subject}s USING (id)`;
  const ofVersion = version === undefined ? [] : [version];
  return [sql, spans.flatMap(({ from, to }) => [...ofVersion, from, to])];
}
