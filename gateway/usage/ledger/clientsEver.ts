/** The query for who has ever used a version, as far as the ledger remembers, and its parameters. */
export function clientsEver(version: string, hasOutcomes: boolean): [sql: string, values: string[]] {
  const sql = `SELECT name AS client FROM clients WHERE id IN
    (SELECT client FROM version_client WHERE version = (SELECT id FROM versions WHERE name = ?)
      ${hasOutcomes ? 'AND used > 0' : ''})`;
  return [sql, [version]];
}
