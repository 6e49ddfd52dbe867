import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { EvidenceQueries } from '../usageQueries.ts';
import type { EvidenceRow, Listing } from '../usageRow.ts';
import type { ReportingDatabase } from './database.ts';
import { addUpEvidence } from './schema.ts';

// Ledgers with an earlier schema have no table `evidence`.
const firstSchemaVersion = 8;
/** The most rows of one version. Beyond them, a new row is added only if `makeRoom` finds room for it. */
export const maxEvidenceRows = 20_000;
// After a change of a contract, the evidence of the former one can still be read.
const keptFormerHashes = 1;

/**
 * Adds rows of one version. For each `to` and `kind`, keeps the rows of the latest contracts and of the contracts before them. If
 * the version has too many rows, other rows are deleted, or some of the new ones are left out. The caller begins and commits the
 * transaction. Throws the errors of SQLite.
 */
export function addEvidenceRows(database: DatabaseSync, version: string, rows: readonly EvidenceRow[]): void {
  const ofComparison = 'version = ? AND target = ? AND kind = ?';
  const findHash = database.prepare(`SELECT 1 FROM evidence WHERE ${ofComparison} AND hash = ? LIMIT 1`);
  const deleteFormer = database.prepare(`DELETE FROM evidence WHERE ${ofComparison} AND hash <> ? AND hash NOT IN (
    SELECT hash FROM evidence WHERE ${ofComparison} AND hash <> ? GROUP BY hash ORDER BY MAX(last) DESC LIMIT ?)`);
  for (const [one] of Map.groupBy(rows, ({ to, kind, hash }) => `${to} ${kind} ${hash}`).values()) {
    if (one === undefined || findHash.get(version, one.to, one.kind, one.hash)) continue;
    const comparison = [version, one.to, one.kind] as const;
    deleteFormer.run(...comparison, one.hash, ...comparison, one.hash, keptFormerHashes);
  }
  const add = database.prepare(`INSERT INTO evidence (${columns}) VALUES (${columns.replace(/\w+/g, '?')})
    ON CONFLICT DO UPDATE SET ${addUpEvidence}`);
  const findProperty = database.prepare(
    `SELECT 1 FROM evidence WHERE ${ofComparison} AND hash = ? AND route = ? AND status = ? AND path = ? AND what = ? AND detail = ?`,
  );
  const propertyOf = (one: EvidenceRow) => [one.route, one.status, one.path, one.what, one.detail] as const;
  const isNew = (one: EvidenceRow): boolean =>
    findProperty.get(version, one.to, one.kind, one.hash, ...propertyOf(one)) === undefined;
  let rowsLeft = maxEvidenceRows - countRows(database, version);
  const mayExceedLimit = rowsLeft < rows.length;
  if (mayExceedLimit) rowsLeft = makeRoom(database, version, rows, rows.filter(isNew).length);
  for (const one of rows) {
    // At the limit, known rows are still counted.
    if (mayExceedLimit && isNew(one)) {
      if (rowsLeft <= 0) continue;
      rowsLeft -= 1;
    }
    const counts = [one.pairs, one.oldMore, one.newMore, one.oldShare, one.newShare, one.first, one.last];
    add.run(version, one.to, one.hash, one.kind, ...propertyOf(one), declared(one), ...counts);
  }
}

/** The rows of one comparison: of a shadow and its controls, of an adapter and its controls, or of drift. */
interface EvidenceGroup {
  readonly target: string;
  readonly hash: string;
  /** '' if it has only controls so far. */
  readonly kind: string;
  readonly count: number;
}

/**
 * Deletes rows until `needed` more rows fit. First deletes former comparisons, the oldest first: a comparison is former if a later
 * one has the same kind. Then deletes routes of the largest other comparison, beginning with the route whose last pair is the oldest.
 * If this comparison has N rows more than the comparison of `rows`, deletes at most N / 2 of them, so that it does not become the
 * smaller one. @returns how many rows fit
 */
function makeRoom(database: DatabaseSync, version: string, rows: readonly EvidenceRow[], needed: number): number {
  const rowsLeft = (): number => maxEvidenceRows - countRows(database, version);
  const keyOf = (target: string, hash: string): string => `${target} ${hash}`;
  const addedKeys = new Set(rows.map(({ to, hash }) => keyOf(to, hash)));
  const groups: readonly EvidenceGroup[] = database
    .prepare(`SELECT target, hash, COALESCE(MAX(NULLIF(kind, 'control')), '') AS kind, COUNT(*) AS count FROM evidence
      WHERE version = ? GROUP BY target, hash ORDER BY MAX(last) DESC`)
    .all(version) as (Record<string, SQLOutputValue> & EvidenceGroup)[];
  const isAdded = ({ target, hash }: EvidenceGroup): boolean => addedKeys.has(keyOf(target, hash));
  const kindsAdded = new Set<string>(rows.map(({ kind }) => kind));
  const latestOfKinds = new Set([...Map.groupBy(groups, ({ kind }) => kind)].map(([, [first]]) => first));
  // The comparisons of `rows` are later than all others.
  const isFormer = (one: EvidenceGroup): boolean =>
    !isAdded(one) && (!latestOfKinds.has(one) || kindsAdded.has(one.kind));
  for (const { target, hash } of groups.filter(isFormer).toReversed()) {
    if (rowsLeft() >= needed) break;
    database.prepare('DELETE FROM evidence WHERE version = ? AND target = ? AND hash = ?').run(version, target, hash);
  }
  const [largest] = groups.filter((one) => !isFormer(one) && !isAdded(one)).toSorted((a, b) => b.count - a.count);
  if (largest === undefined) return rowsLeft();
  const addedCount = groups.filter(isAdded).reduce((sum, { count }) => sum + count, 0);
  // After half of the difference is deleted, the comparison of `rows` can become as large as the other one, but not larger.
  const [rowsToDelete, maxRowsToDelete] = [needed - rowsLeft(), (largest.count - addedCount) / 2];
  const largestKey = [version, largest.target, largest.hash] as const;
  const routes = database
    .prepare(`SELECT route, COUNT(*) AS count FROM evidence WHERE version = ? AND target = ? AND hash = ?
      GROUP BY route ORDER BY MAX(last), route`)
    .all(...largestKey);
  let deleted = 0;
  for (const { route = null, count } of routes) {
    if (deleted >= rowsToDelete) break;
    if (deleted + Number(count) > maxRowsToDelete) continue;
    database
      .prepare('DELETE FROM evidence WHERE version = ? AND target = ? AND hash = ? AND route = ?')
      .run(...largestKey, route);
    deleted += Number(count);
  }
  return rowsLeft();
}

function countRows(database: DatabaseSync, version: string): number {
  return Number(database.prepare('SELECT COUNT(*) AS count FROM evidence WHERE version = ?').get(version)?.['count']);
}

/** The column `declares`: `required → unlisted`. */
function declared({ oldListing, newListing }: EvidenceRow): string {
  return `${oldListing}${between}${newListing}`;
}

const between = ' → ';

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
    const rows = await this.#database.all<Omit<EvidenceRow, 'oldListing' | 'newListing'> & { declares: string }>(
      `SELECT version, target AS "to", hash, kind, route, status, path, what, detail, declares, pairs, old_more AS "oldMore",
        new_more AS "newMore", old_share AS "oldShare", new_share AS "newShare", first, last
        FROM evidence WHERE version = ?`,
      [version],
    );
    return rows.map(({ declares, ...row }) => {
      const [oldListing, newListing = ''] = declares.split(between) as [Listing, Listing?];
      return { ...row, oldListing, newListing };
    });
  }
}
