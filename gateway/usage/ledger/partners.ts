import { otherClients } from '../usageRow.ts';

/** The query for how many routes each client of a version has met since then, or clients each route, and its parameters. */
export function partners(
  one: 'client' | 'route',
  version: string,
  since: number,
): [sql: string, values: (string | number)[]] {
  const other = one === 'client' ? 'route' : 'client';
  // What is counted together is no client, and nobody knows how many.
  const told = other === 'client' ? `AND client IS NOT (SELECT id FROM clients WHERE name = '${otherClients}')` : '';
  const sql = `SELECT ${one} AS id, COUNT(${other}) AS met FROM route_client
    WHERE version = (SELECT id FROM versions WHERE name = ?) AND last >= ? ${told} GROUP BY ${one}`;
  return [sql, [version, since]];
}
