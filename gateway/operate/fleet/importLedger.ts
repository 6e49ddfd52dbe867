import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { dayText } from '../../shared/instant.ts';
import { messageOf } from '../../shared/text.ts';
import { ledgerFailure } from '../../usage/ledger/failure.ts';
import { openLedgerFileToRead } from '../../usage/ledger/file.ts';
import { lossesVersion, sizeColumns, subjects } from '../../usage/ledger/schema.ts';
import { dayMs, hourMs } from '../../usage/ledger/spans.ts';
import { type Postgres, type Sql, StoreError } from './postgres.ts';
import { getOrSetFleetSalt, migrate, schemaName, sumTables } from './schema.ts';

const rowsPerStatement = 5_000;

/** `unchanged`: the ledger was imported before. Instants in epoch ms. */
export type ImportOutcome =
  | { readonly kind: 'unchanged'; readonly at: number }
  | {
      readonly kind: 'imported';
      readonly requests: number;
      readonly from: number;
      readonly until: number;
      /** Clients that are known by a tag under another salt than that of the fleet. They count as `other clients`. */
      readonly foreignTags: number;
    };

/** Why a ledger cannot be imported, and what to do about it. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
}

/**
 * Adds all counts of a ledger file to the store, in one transaction. The salt of the file becomes that of the fleet if the
 * fleet has none yet, so import the first ledger before the first gateway of the fleet starts.
 * @throws ImportError, StoreError
 */
export async function importLedger(postgres: Postgres, file: string): Promise<ImportOutcome> {
  const ledger = openedLedger(file);
  try {
    ledger.exec('BEGIN');
    assertImportable(ledger, file);
    await migrate(postgres);
    return await postgres.transaction((sql) => copyLedger(sql, ledger, file));
  } catch (error) {
    if (error instanceof ImportError || error instanceof StoreError) throw error;
    throw new ImportError(`${file} cannot be read: ${ledgerFailure(error).reason}.`);
  } finally {
    ledger.close();
  }
}

function openedLedger(file: string): DatabaseSync {
  try {
    return openLedgerFileToRead(file);
  } catch (error) {
    throw new ImportError(`${file} cannot be read: ${messageOf(error)}.`);
  }
}

// Earlier versions of the ledger lack a column or a table that is copied.
const firstImportableVersion = 7;

function assertImportable(ledger: DatabaseSync, file: string): void {
  const version = Number(ledger.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version >= firstImportableVersion) return;
  throw new ImportError(`${file} was written by an earlier release.  Start this release once with it, then import it.`);
}

async function copyLedger(sql: Sql, ledger: DatabaseSync, file: string): Promise<ImportOutcome> {
  const meta = new Map(
    ledger
      .prepare('SELECT key, value FROM meta')
      .all()
      .map(({ key, value }) => [String(key), String(value)]),
  );
  if (meta.has('instance')) {
    throw new ImportError(
      `${file} belongs to a gateway of a fleet, which sends its counts to the store itself.  Import a copy from before it joined.`,
    );
  }
  const salt = meta.get('salt') ?? '';
  // The salt identifies only a file of an earlier release, which has no id: files with the same `usage.tag_key` have the same salt.
  const fileId = createHash('sha256')
    .update(meta.get('id') ?? salt)
    .digest('hex');
  const { seen: lastSeen } = ledger.prepare('SELECT MAX(seen) AS seen FROM runs').get() ?? {};
  const until = Number(lastSeen ?? 0);
  // Two imports of one file at the same time: the second one waits here.
  const [claimed] = await sql.query(
    `INSERT INTO ${schemaName}.imports (ledger, seen) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING ledger`,
    [fileId, until],
  );
  if (claimed === undefined) return earlierImport(sql, fileId, until, file);
  const hasFleetSalt = (await getOrSetFleetSalt(sql, salt)) === salt;
  const { first: firstHour } = ledger.prepare('SELECT MIN(span) AS first FROM version_hour').get() ?? {};
  const from = Number(firstHour ?? 0) * hourMs;
  const days = ledger.prepare('SELECT DISTINCT span FROM version_day ORDER BY span').all();
  await sql.query(`SELECT ${schemaName}.create_partitions(day, day) FROM unnest($1::bigint[]) AS day`, [
    days.map(({ span }) => Number(span) * dayMs),
  ]);
  // The names of versions, clients and routes.
  for (const subject of subjects) await copyNames(sql, ledger, subject, hasFleetSalt);
  for (const { name, keys, counts } of sumTables)
    await copyTable(
      sql,
      ledger,
      { name, keys: ['version', 'span', ...keys], sums: counts, minimum: ['first'], maximum: ['last'] },
      hasFleetSalt,
    );
  await copyTable(
    sql,
    ledger,
    {
      name: 'version_client',
      keys: ['version', 'client'],
      sums: [],
      minimum: ['first'],
      maximum: ['last', 'used', 'accepted'],
    },
    hasFleetSalt,
  );
  await copyTable(
    sql,
    ledger,
    {
      name: 'route_client',
      keys: ['version', 'route', 'client'],
      sums: [],
      minimum: ['first'],
      maximum: ['last', 'used'],
    },
    hasFleetSalt,
  );
  await copyTable(
    sql,
    ledger,
    {
      name: 'brownout_client',
      keys: ['version', 'brownout', 'client'],
      sums: ['refused'],
      minimum: ['first'],
      maximum: ['last'],
    },
    hasFleetSalt,
  );
  await copySizes(sql, ledger, until, Number(meta.get('sizes_since') ?? 0));
  await copyBrownouts(sql, ledger);
  // The id of the file is used as the id of the gateway that wrote it.
  const instance = fileId.slice(0, 32);
  await copyRuns(sql, ledger, instance, basename(file), Number(meta.get('kept_from') ?? 0));
  // Before `hours_from`, the file has the counts of clients and routes by day only.
  await sql.query(
    `INSERT INTO ${schemaName}.meta AS m VALUES ('hours_from', $1) ON CONFLICT (key) DO UPDATE
      SET value = GREATEST(m.value::bigint, excluded.value::bigint)::text`,
    [meta.get('hours_from') ?? '0'],
  );
  const { requests } = ledger.prepare('SELECT SUM(requests) AS requests FROM version_day').get() ?? {};
  const tags = hasFleetSalt
    ? 0
    : ledger.prepare(`SELECT COUNT(*) AS tags FROM clients WHERE name LIKE '%:#%'`).get()?.['tags'];
  return { kind: 'imported', requests: Number(requests ?? 0), from, until, foreignTags: Number(tags ?? 0) };
}

async function earlierImport(sql: Sql, fileId: string, until: number, file: string): Promise<ImportOutcome> {
  const [row] = await sql.query<{ seen: number; at: Date }>(
    `SELECT seen, at FROM ${schemaName}.imports WHERE ledger = $1`,
    [fileId],
  );
  if (row === undefined) throw new StoreError('another import of the same file has just failed.  Try again.');
  if (until <= row.seen) return { kind: 'unchanged', at: row.at.getTime() };
  const day = dayText(row.at.getTime());
  throw new ImportError(
    `${file} was imported on ${day} and has been written since.  Its later counts cannot be separated from the earlier ones, so it is not imported again.`,
  );
}

/** Arguments for `client_name` in place of the salts of the file and of the fleet. `client_name` only checks whether they are equal. */
function comparedSalts(areEqual: boolean): readonly string[] {
  return ['file', areEqual ? 'file' : 'fleet'];
}

async function copyNames(sql: Sql, ledger: DatabaseSync, subject: string, hasFleetSalt: boolean): Promise<void> {
  // Names of versions and routes do not depend on a salt.
  const salts = comparedSalts(hasFleetSalt || subject !== 'client');
  for (const chunk of chunksOf(ledger, `SELECT name FROM ${subject}s`)) {
    await sql.query(
      `INSERT INTO ${schemaName}.${subject}s (name)
        SELECT DISTINCT ${schemaName}.client_name(name, $2, $3) FROM json_to_recordset($1) AS r(name text)
        ON CONFLICT DO NOTHING`,
      [JSON.stringify(chunk), ...salts],
    );
  }
}

/**
 * Copies the largest requests of each route. A file of an earlier release has none. `until`: the end of the imported time, and
 * `sizesSince`: from when on the file has sizes, epoch ms.
 */
async function copySizes(sql: Sql, ledger: DatabaseSync, until: number, sizesSince: number): Promise<void> {
  const hasSizes = ledger.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'sizes'`).get() !== undefined;
  const keys = ['version', 'span', 'route'];
  if (hasSizes)
    await copyTable(sql, ledger, { name: 'sizes', keys, sums: [], minimum: [], maximum: sizeColumns }, true);
  const knownSince = hasSizes ? sizesSince : until;
  if (knownSince === 0) return;
  await sql.query(
    `INSERT INTO ${schemaName}.meta AS m VALUES ('sizes_since', $1) ON CONFLICT (key) DO UPDATE
      SET value = GREATEST(m.value::bigint, excluded.value::bigint)::text`,
    [String(knownSince)],
  );
}

/** Copies what the gateway decided about brownouts. Decisions that the fleet already has are kept. */
async function copyBrownouts(sql: Sql, ledger: DatabaseSync): Promise<void> {
  for (const chunk of chunksOf(ledger, 'SELECT version, at, state, reason, changed FROM brownouts')) {
    await sql.query(
      `INSERT INTO ${schemaName}.brownouts (version, at, state, reason, changed)
        SELECT * FROM json_to_recordset($1) AS r(version text, at bigint, state text, reason text, changed bigint)
        ON CONFLICT DO NOTHING`,
      [JSON.stringify(chunk)],
    );
  }
}

/**
 * Copies when the file was written, and which calls may be missing in it. A run that was not closed ended at the latest when the next
 * one began; the last one may have counted until now. `name`: stands for the name of the gateway.
 */
async function copyRuns(
  sql: Sql,
  ledger: DatabaseSync,
  instance: string,
  name: string,
  keptFrom: number,
): Promise<void> {
  const hasLosses = Number(ledger.prepare('PRAGMA user_version').get()?.['user_version']) >= lossesVersion;
  // The file has no counts from before `kept_from`, even if a run began earlier.
  const runs = ledger
    .prepare(
      `SELECT id, MAX(began, ?1) AS began, seen, ${hasLosses ? 'closed' : '1 AS closed'},
        LEAD(began) OVER (ORDER BY seen, id) AS next FROM runs WHERE seen >= ?1`,
    )
    .all(keptFrom);
  for (const { id, began, seen, closed, next } of runs) {
    const ended = closed === 0 ? Math.max(Number(seen), Number(next ?? Date.now())) : null;
    await sql.query(
      `INSERT INTO ${schemaName}.runs (instance, epoch, began, seen, closed, name, ended) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [instance, id, began, seen, closed, name, ended],
    );
  }
  const losses = hasLosses ? ledger.prepare('SELECT version, began, ended, reason FROM losses').all() : [];
  for (const { version, began, ended, reason } of losses)
    await sql.query(
      `INSERT INTO ${schemaName}.lost_counts (version, began, ended, reason, instance) VALUES ($1, $2, $3, $4, $5)`,
      [version, began, ended, reason, instance],
    );
}

interface CopiedTable {
  readonly name: string;
  readonly keys: readonly string[];
  /** Columns whose values are added up. */
  readonly sums: readonly string[];
  /** Columns of which the smallest value is kept. */
  readonly minimum: readonly string[];
  /** Columns of which the largest value is kept. */
  readonly maximum: readonly string[];
}

/** Adds the rows of a table, with the ids that the names have in the store. */
async function copyTable(sql: Sql, ledger: DatabaseSync, table: CopiedTable, hasFleetSalt: boolean): Promise<void> {
  const { name, keys, sums, minimum, maximum } = table;
  // The column `item` has the id of a client or route, depending on the table. In the tables of versions it is always 0.
  const subjectOf = (key: string): string => (key === 'item' ? name.slice(0, name.indexOf('_')) : key);
  const idKeys = keys.filter(
    (key) => !['span', 'brownout'].includes(key) && !(key === 'item' && name.startsWith('version')),
  );
  const plainKeys = keys.filter((key) => !idKeys.includes(key));
  const valueColumns = [...sums, ...minimum, ...maximum];
  const nameSelects = idKeys.map((key) => `(SELECT name FROM ${subjectOf(key)}s WHERE id = ${key}) AS ${key}`);
  const columnTypes = [
    ...idKeys.map((key) => `${key} text`),
    ...[...plainKeys, ...valueColumns].map((column) => `${column} bigint`),
  ];
  const idSelects = idKeys.map((key) => {
    const nameSql = subjectOf(key) === 'client' ? `${schemaName}.client_name(r.${key}, $2, $3)` : `r.${key}`;
    return `(SELECT id FROM ${schemaName}.${subjectOf(key)}s WHERE name = ${nameSql})`;
  });
  // A NULL in route_client is unknown: an earlier release has written the row. An unknown `first` stays unknown. The CASEs below keep
  // it NULL, because MIN and LEAST ignore NULL.
  const valueSelects = valueColumns.map((column) => (column === 'used' ? 'COALESCE(used, last) AS used' : column));
  const keyColumns = [...idKeys, ...plainKeys];
  const aggregateSql = (column: string): string => {
    if (minimum.includes(column)) return `CASE WHEN COUNT(${column}) = COUNT(*) THEN MIN(${column}) END`;
    return `${sums.includes(column) ? 'SUM' : 'MAX'}(${column})`;
  };
  const updateSql = (column: string): string => {
    if (sums.includes(column)) return `${column} = t.${column} + excluded.${column}`;
    if (minimum.includes(column))
      return `${column} = CASE WHEN t.${column} IS NOT NULL AND excluded.${column} IS NOT NULL
        THEN LEAST(t.${column}, excluded.${column}) END`;
    const storedValue = column === 'used' ? 'COALESCE(t.used, t.last)' : `t.${column}`;
    return `${column} = GREATEST(${storedValue}, excluded.${column})`;
  };
  // The WHERE is always true. In a table without clients, it alone uses $2 and $3: PostgreSQL refuses parameters that no
  // part of the statement uses.
  for (const chunk of chunksOf(
    ledger,
    `SELECT ${[...nameSelects, ...plainKeys, ...valueSelects].join(', ')} FROM ${name}`,
  )) {
    await sql.query(
      `INSERT INTO ${schemaName}.${name} AS t (${[...keyColumns, ...valueColumns].join(', ')})
        SELECT ${[...idSelects, ...plainKeys.map((column) => `r.${column}`), ...valueColumns.map(aggregateSql)].join(', ')}
        FROM json_to_recordset($1) AS r(${columnTypes.join(', ')}) WHERE $2::text IS NOT NULL AND $3::text IS NOT NULL
        GROUP BY ${keyColumns.map((_key, index) => index + 1).join(', ')}
        ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${valueColumns.map(updateSql).join(', ')}`,
      [JSON.stringify(chunk), ...comparedSalts(hasFleetSalt)],
    );
  }
}

/** The rows of a query in groups of at most `rowsPerStatement`, so that the memory does not hold all of them. */
function* chunksOf(ledger: DatabaseSync, query: string): Generator<object[]> {
  let chunk: object[] = [];
  for (const row of ledger.prepare(query).iterate()) {
    chunk.push(row);
    if (chunk.length < rowsPerStatement) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
