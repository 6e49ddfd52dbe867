import { otherClients } from '../usageRow.ts';
import { numbersOf } from './clientRoutes.ts';
import { beginOf, endless, lengths, type Spans } from './spans.ts';

/**
 * The query for how many clients each version had in these spans, as far as they are told apart, and its parameters. Nearly all are told by when they were
 * first and last seen; only of those that were seen both before and after all of it somebody has to look whether in between.
 */
export function clientsBetween(spans: readonly Spans[]): [sql: string, values: (string | number)[]] {
  const begin = beginOf(spans);
  const end = Math.max(...spans.map(({ length, to }) => (to + 1) * lengths[length]));
  // The longest first: the longer a span, the likelier is a hit. One by one, since the tables are sorted by span first.
  const longestFirst = [...spans].sort((a, b) => lengths[b.length] - lengths[a.length]);
  const looked = end >= endless ? [] : longestFirst;
  const looks = looked.map(
    ({ length }) => `EXISTS (SELECT 1 FROM client_${length} AS seen WHERE seen.version = version_client.version
      AND seen.span IN (SELECT value FROM json_each(?)) AND seen.item = version_client.client)`,
  );
  const sql = `SELECT version, COUNT(*) AS clients FROM version_client
    WHERE client IS NOT (SELECT id FROM clients WHERE name = '${otherClients}')
      AND last >= ? AND first < ? AND (${['first >= ?', 'last < ?', ...looks].join(' OR ')}) GROUP BY version`;
  return [sql, [begin, end, begin, end, ...looked.map(numbersOf)]];
}
