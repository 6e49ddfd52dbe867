import { randomUUID } from 'node:crypto';
import { chmodSync, closeSync, existsSync, openSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { realPathOf } from '../../config/location.ts';
import { assertSuitable, makeFolder } from '../../shared/fileSystem.ts';
import { isoText } from '../../shared/instant.ts';
import { ledgerFailure, primaryCode } from './failure.ts';
import { applicationId, migrations, schema, schemaVersion } from './schema.ts';

// Short, because the thread blocks while it waits. A batch that cannot be written is written with the next one.
const busyMs = 50;
const claimIntervalMs = 1_000;
// https://www.sqlite.org/rescode.html#busy
const busyCode = 5;

/** The file belongs to another program or to a later release, and must not be written. */
export class UnsupportedLedgerError extends Error {
  override readonly name = 'UnsupportedLedgerError';
}

/** Opens the ledger for writing. Creates it and its folder if they are missing. Throws the errors of the system or SQLite. */
export function openLedgerFile(file: string, salt: string): DatabaseSync {
  makeFolder(dirname(file));
  assertSuitableIfPresent(file);
  // SQLite itself would create it readable for everyone. The journal files inherit this mode.
  closeSync(openSync(file, 'a', 0o600));
  const database = new DatabaseSync(file, { timeout: busyMs });
  try {
    restrictToOwner(file);
    if (pragma(database, 'user_version') === 0) create(database, salt);
    assertIsLedger(database);
    migrate(database);
    database.exec(
      'PRAGMA temp_store = MEMORY; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000;',
    );
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The lock of the process that writes a ledger. The system releases it when the process ends, even after a crash. */
export interface LedgerClaim {
  release(): void;
}

/**
 * Claims a ledger for this process. @returns undefined if another process on this machine has claimed it. If the lock file
 * cannot be written, the claim succeeds without it: opening the ledger then reports why its folder cannot be used.
 */
export function claimLedger(file: string): LedgerClaim | undefined {
  const claim = lockLedger(file);
  return claim === 'failed' ? { release: () => {} } : claim;
}

/** Undefined: another process has the lock. */
function lockLedger(file: string): LedgerClaim | 'failed' | undefined {
  let database: DatabaseSync | undefined;
  try {
    const real = realPathOf(file);
    makeFolder(dirname(real));
    const lock = `${real}.lock`;
    assertSuitableIfPresent(lock);
    closeSync(openSync(lock, 'a', 0o600));
    // Node.js cannot lock files; SQLite can. The file stays empty.
    database = new DatabaseSync(lock, { timeout: 0 });
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    return primaryCode(error) === busyCode ? undefined : 'failed';
  }
  const lockDatabase = database;
  return { release: () => lockDatabase.close() };
}

/** Claims a ledger as soon as the process that has claimed it ends, so that the next gateway beside this one knows of this one. */
export function claimWhenFree(file: string): LedgerClaim {
  let claim: LedgerClaim | undefined;
  const timer = setInterval(() => {
    const found = lockLedger(file);
    if (found === undefined || found === 'failed') return;
    claim = found;
    clearInterval(timer);
  }, claimIntervalMs).unref();
  return {
    release: () => {
      clearInterval(timer);
      claim?.release();
    },
  };
}

/** Opens a ledger that another thread or process may be writing. @throws Error whose message is the reason */
export function openLedgerFileToRead(file: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    assertSuitableIfPresent(file);
    if (!existsSync(file)) throw new Error('there is no such file');
    database = new DatabaseSync(file, { readOnly: true, timeout: 1000 });
    assertIsLedger(database);
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof UnsupportedLedgerError ? error : new Error(ledgerFailure(error).reason, { cause: error });
  }
}

/** The salt of the tags in a ledger that another process may be writing. @throws Error whose message is the reason */
export function readSalt(file: string): string {
  const database = openLedgerFileToRead(file);
  try {
    const salt = database.prepare("SELECT value FROM meta WHERE key = 'salt'").get()?.['value'];
    if (typeof salt !== 'string') throw new Error('it has no salt');
    return salt;
  } finally {
    database.close();
  }
}

/**
 * Rejects a path that is not a regular file, because opening a named pipe would block. Accepts a path without a file.
 * @throws UnsuitableFileError
 */
function assertSuitableIfPresent(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats) assertSuitable(stats);
}

/** Facts of a ledger of which an earlier copy has less. */
export interface RecordedFacts {
  /** The first of the days that are added up. */
  readonly day: number;
  readonly requests: number;
  /** The end of the latest loss, epoch ms. */
  readonly lostUntil: number;
}

/** Throws the errors of SQLite. */
export function recordedFactsIn(database: DatabaseSync, day: number): RecordedFacts {
  const row = database
    .prepare(
      `SELECT (SELECT COALESCE(SUM(requests), 0) FROM version_day WHERE span >= ?) AS requests,
        (SELECT COALESCE(MAX(ended), 0) FROM losses) AS lostUntil`,
    )
    .get(day);
  return { day, requests: Number(row?.['requests']), lostUntil: Number(row?.['lostUntil']) };
}

/**
 * Why the ledger is not the one that a run has written; undefined: it is. It may be another one, or an earlier copy. `seen`: the time in
 * the row of the run. `recorded`: what the ledger had. Throws the errors of SQLite.
 */
export function replacedContent(
  database: DatabaseSync,
  run: number,
  seen: number,
  recorded?: RecordedFacts,
): string | undefined {
  const row = database.prepare('SELECT seen FROM runs WHERE id = ?').get(run);
  const found = recorded && recordedFactsIn(database, recorded.day);
  const hasLess = found && (found.requests < recorded.requests || found.lostUntil < recorded.lostUntil);
  return hasLess || Number(row?.['seen'] ?? 0) < seen ? 'its content was replaced' : undefined;
}

/**
 * Checks whether the file is still the ledger that this process has open. @returns how it was damaged or replaced, or undefined.
 * `run`: the id of this process in the table of runs; `seen`: the time in its row. `recorded`: what the ledger had; the journal may hide
 * that a copy is in the place of the file, but not that counts are missing. Throws the errors of SQLite.
 */
export function damageIn(file: string, run: number, seen: number, recorded?: RecordedFacts): string | undefined {
  let database: DatabaseSync | undefined;
  try {
    // A new connection, because the open one would answer from its cache.
    database = new DatabaseSync(file, { readOnly: true, timeout: 1000 });
    assertIsLedger(database);
    if (database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'] !== 'ok') return 'its content is damaged';
    return replacedContent(database, run, seen, recorded);
  } catch (error) {
    if (error instanceof UnsupportedLedgerError) return error.message;
    const { reason, isCorrupt } = ledgerFailure(error);
    if (isCorrupt) return reason;
    throw error;
  } finally {
    database?.close();
  }
}

/** The name of a copy in the same folder: `usage.db.corrupt-2026-11-19T12-00-00-000Z`. */
export function copyName(file: string, label: string, now: number): string {
  return `${file}.${label}-${isoText(now).replace(/[:.]/g, '-')}`;
}

/** Renames a damaged ledger, so that a new one can be created. @returns the new name, or a sentence with the reason why not */
export function renameDamaged(file: string, now: number): { readonly renamed: string } | { readonly failure: string } {
  const renamed = copyName(file, 'corrupt', now);
  try {
    renameSync(file, renamed);
    // The journal belongs to the damaged file and would damage the new one.
    for (const suffix of ['-wal', '-shm']) if (existsSync(file + suffix)) renameSync(file + suffix, renamed + suffix);
    return { renamed };
  } catch (error) {
    return { failure: `It cannot be renamed to ${renamed}: ${ledgerFailure(error).reason}.` };
  }
}

function create(database: DatabaseSync, salt: string): void {
  inTransaction(database, () => {
    if (pragma(database, 'user_version') !== 0) return;
    const { tables } = database.prepare('SELECT COUNT(*) AS tables FROM sqlite_schema').get() ?? {};
    if (tables !== 0) throw new UnsupportedLedgerError('it belongs to another program');
    database.exec(schema);
    const setMeta = database.prepare('INSERT INTO meta VALUES (?, ?)');
    setMeta.run('salt', salt);
    setMeta.run('id', randomUUID());
  });
}

/** Migrates the ledger of an earlier release to the current schema. */
function migrate(database: DatabaseSync): void {
  if (pragma(database, 'user_version') === schemaVersion) return;
  inTransaction(database, () => {
    for (
      let step = migrations[schemaVersionOf(database)];
      step !== undefined;
      step = migrations[schemaVersionOf(database)]
    ) {
      database.exec(step);
    }
  });
}

/** Runs `work` in a transaction. Another process may be doing the same, so `work` itself has to check what is left to do. */
export function inTransaction<Result>(database: DatabaseSync, work: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function assertIsLedger(database: DatabaseSync): void {
  if (pragma(database, 'application_id') !== applicationId) throw new UnsupportedLedgerError('it is not a ledger');
  if (schemaVersionOf(database) > schemaVersion) {
    throw new UnsupportedLedgerError('it was written by a later release');
  }
}

function schemaVersionOf(database: DatabaseSync): number {
  return Number(pragma(database, 'user_version'));
}

function pragma(database: DatabaseSync, name: string): unknown {
  return database.prepare(`PRAGMA ${name}`).get()?.[name];
}

function restrictToOwner(file: string): void {
  try {
    chmodSync(file, 0o600);
  } catch {
    // The file belongs to another user, who chose its mode.
  }
}
