/** The query for who was ever seen with a version, as far as the ledger remembers, and its parameters. */
export function clientsEver(version: string): [sql: string, values: string[]] {
  const sql = `SELECT name AS client FROM clients WHERE id IN
    (SELECT client FROM version_client WHERE version = (SELECT id FROM versions WHERE name = ?))`;
  return [sql, [version]];
}
