import { numbersOf } from './clientRoutes.ts';
import type { Spans } from './spans.ts';

/** The query for how often one client has called in these spans, a version or all of them, and its parameters. */
export function requestsOfClient(
  client: string,
  spans: readonly Spans[],
  version?: string,
): [sql: string, values: string[]] {
  // Span by span, since the tables are sorted by that before the client.
  const parts = spans.map(
    ({ length }) => `SELECT requests FROM client_${length}
      WHERE version IN (SELECT id FROM versions ${version === undefined ? '' : 'WHERE name = ?'})
        AND span IN (SELECT value FROM json_each(?)) AND item = (SELECT id FROM clients WHERE name = ?)`,
  );
  const ofVersion = version === undefined ? [] : [version];
  const sql = `SELECT SUM(requests) AS requests FROM (${parts.join(' UNION ALL ')})`;
  return [sql, spans.flatMap((one) => [...ofVersion, numbersOf(one), client])];
}
