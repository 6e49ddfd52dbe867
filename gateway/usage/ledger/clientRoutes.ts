import { lengths, type Spans } from './spans.ts';

/** How many routes of a client are named. */
const mostRoutes = 5;

/**
 * The query for the routes that each of these clients of a version has used most in these spans, hours and days only, and
 * its parameters. `clients`: by number, since a span has many others.
 */
export function clientRoutes(
  version: string,
  clients: readonly number[],
  spans: readonly Spans[],
): [sql: string, values: string[]] {
  const parts = spans.map(
    ({ length }) => `SELECT client, route, requests, span * ${lengths[length]} + last AS last FROM pair_${length}
      WHERE version = (SELECT id FROM versions WHERE name = ?)
        AND span IN (SELECT value FROM json_each(?)) AND client IN (SELECT value FROM json_each(?))`,
  );
  const sums = `SELECT client, route, SUM(requests) AS requests, MAX(last) AS last
    FROM (${parts.join(' UNION ALL ')}) GROUP BY client, route`;
  const placed = `SELECT *, ROW_NUMBER() OVER (PARTITION BY client ORDER BY requests DESC, route) AS place FROM (${sums})`;
  const sql = `SELECT client AS id, name AS route, requests, last FROM (${placed}) JOIN routes ON routes.id = route
    WHERE place <= ${mostRoutes} ORDER BY client, place`;
  return [sql, spans.flatMap((one) => [version, numbersOf(one), JSON.stringify(clients)])];
}

export function numbersOf({ from, to }: Spans): string {
  return JSON.stringify(Array.from({ length: to - from + 1 }, (_one, index) => from + index));
}
