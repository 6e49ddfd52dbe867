import type { DatabaseSync } from 'node:sqlite';
import type { EvidenceQueries } from '../usageQueries.ts';
import type { EvidenceRow } from '../usageRow.ts';
import type { ReportingDatabase } from './database.ts';
import { addUpEvidence } from './schema.ts';

// Earlier ledgers have no evidence.
const firstSchemaVersion = 8;
/** The most rows of one version. What is seen for the first time after that is not recorded. */
export const mostEvidenceRows = 20_000;
// After a change of a contract, the evidence of the former one can still be read.
const formerHashes = 1;

/**
 * Adds rows of one version. The evidence of the latest contracts and of those before is kept, per kind. If the version has too many
 * rows, those of former contracts are deleted first. Within a transaction; throws the errors of SQLite.
 */
export function addEvidenceRows(database: DatabaseSync, version: string, rows: readonly EvidenceRow[]): void {
  const key = 'version = ? AND target = ? AND kind = ?';
  const isKnown = database.prepare(`SELECT 1 FROM evidence WHERE ${key} AND hash = ? LIMIT 1`);
  const deleteFormer = database.prepare(`DELETE FROM evidence WHERE ${key} AND hash <> ? AND hash NOT IN (
    SELECT hash FROM evidence WHERE ${key} AND hash <> ? GROUP BY hash ORDER BY MAX(last) DESC LIMIT ?)`);
  const count = (): number =>
    Number(database.prepare('SELECT COUNT(*) AS count FROM evidence WHERE version = ?').get(version)?.['count']);
  for (const [one] of Map.groupBy(rows, ({ to, kind, hash }) => `${to} ${kind} ${hash}`).values()) {
    if (one === undefined || isKnown.get(version, one.to, one.kind, one.hash)) continue;
    const which = [version, one.to, one.kind] as const;
    deleteFormer.run(...which, one.hash, ...which, one.hash, formerHashes);
  }
  let left = mostEvidenceRows - count();
  if (left < rows.length) {
    const current = JSON.stringify([...new Set(rows.map(({ hash }) => hash))]);
    database
      .prepare('DELETE FROM evidence WHERE version = ? AND hash NOT IN (SELECT value FROM json_each(?))')
      .run(version, current);
    left = mostEvidenceRows - count();
  }
  const add = database.prepare(`INSERT INTO evidence (${columns}) VALUES (${columns.replace(/\w+/g, '?')})
    ON CONFLICT DO UPDATE SET ${addUpEvidence}`);
  const has = database.prepare(
    `SELECT 1 FROM evidence WHERE ${key} AND hash = ? AND route = ? AND status = ? AND path = ? AND what = ? AND detail = ?`,
  );
  for (const one of rows) {
    const property = [one.route, one.status, one.path, one.what, one.detail] as const;
    // A full table still counts what it has.
    if (left < rows.length && !has.get(version, one.to, one.kind, one.hash, ...property)) {
      if (left <= 0) continue;
      left -= 1;
    }
    const counts = [one.pairs, one.oldMore, one.newMore, one.oldShare, one.newShare, one.first, one.last];
    add.run(version, one.to, one.hash, one.kind, ...property, one.declares, ...counts);
  }
}

const columns =
  'version, target, hash, kind, route, status, path, what, detail, declares, pairs, old_more, new_more, old_share, new_share, first, last';

/** The queries on the evidence about responses. Only a SQLite file has it. */
export class EvidenceReads implements EvidenceQueries {
  readonly #database: ReportingDatabase;

  constructor(database: ReportingDatabase) {
    this.#database = database;
  }

  async of(version: string): Promise<readonly EvidenceRow[]> {
    if ((await this.#database.schemaVersion()) < firstSchemaVersion) return [];
    return this.#database.all(
      `SELECT version, target AS "to", hash, kind, route, status, path, what, detail, declares, pairs, old_more AS "oldMore",
        new_more AS "newMore", old_share AS "oldShare", new_share AS "newShare", first, last
        FROM evidence WHERE version = ?`,
      [version],
    );
  }
}
