import { chmodSync, closeSync, existsSync, openSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { assertSuitable, makeFolder } from '../../shared/fileSystem.ts';
import { failureOf } from './failure.ts';
import { applicationId, migrations, schema, schemaVersion } from './schema.ts';

// The gateway waits for nothing else meanwhile: what is not written now is written with the next batch.
const busyMs = 50;

/** A file that is there and is not for this release to write: another program's, or a later release's. */
export class ForeignFileError extends Error {
  override readonly name = 'ForeignFileError';
}

/**
 * Opens the ledger, creating it, with this salt, and its folder where they are missing. Throws what the system or SQLite
 * says.
 */
export function openLedgerFile(file: string, salt: string): DatabaseSync {
  makeFolder(dirname(file));
  assertFile(file);
  // SQLite would create it for everybody to read; the files beside it take over the mode of this one.
  closeSync(openSync(file, 'a', 0o600));
  const database = new DatabaseSync(file, { timeout: busyMs });
  try {
    restrict(file);
    if (pragma(database, 'user_version') === 0) create(database, salt);
    assertOurs(database);
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

/** For another process than the gateway. Throws an error that says why not. */
export function openLedgerFileToRead(file: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    if (!assertFile(file)) throw new Error('there is no such file');
    database = new DatabaseSync(file, { readOnly: true, timeout: 1000 });
    assertOurs(database);
    return database;
  } catch (error) {
    database?.close();
    throw error instanceof ForeignFileError ? error : new Error(failureOf(error).reason, { cause: error });
  }
}

/** The salt of the tags in a ledger that another process may be writing. Throws an error that says why not. */
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

/** Opening a pipe would block. @returns false if there is no such file @throws UnsuitableFileError */
function assertFile(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats) assertSuitable(stats);
  return stats !== undefined;
}

/**
 * Why the file is no use any more as the ledger that is open in this process; undefined: it is. `run`, `seen`: what was
 * last written to it. Throws what SQLite says.
 */
export function damageIn(file: string, run: number, seen: number): string | undefined {
  let database: DatabaseSync | undefined;
  try {
    // Another connection: the one that is open would answer from its cache.
    database = new DatabaseSync(file, { readOnly: true, timeout: 1000 });
    assertOurs(database);
    if (database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'] !== 'ok') return 'its content is damaged';
    const row = database.prepare('SELECT seen FROM runs WHERE id = ?').get(run);
    return Number(row?.['seen'] ?? 0) < seen ? 'its content was replaced' : undefined;
  } catch (error) {
    if (error instanceof ForeignFileError) return error.message;
    const { reason, corrupt } = failureOf(error);
    if (corrupt) return reason;
    throw error;
  } finally {
    database?.close();
  }
}

/** The name of a file beside `file` for what it was at `now`. */
export function besides(file: string, what: string, now: number): string {
  return `${file}.${what}-${new Date(now).toISOString().replace(/[:.]/g, '-')}`;
}

/** Renames a damaged ledger, so that a new one can begin. @returns the new name; undefined where that failed */
export function putAside(file: string, now: number): string | undefined {
  const aside = besides(file, 'corrupt', now);
  try {
    renameSync(file, aside);
    // What was not yet moved over from the journal belongs to the damaged file, and would damage the new one.
    for (const suffix of ['-wal', '-shm']) if (existsSync(file + suffix)) renameSync(file + suffix, aside + suffix);
    return aside;
  } catch {
    return undefined;
  }
}

function create(database: DatabaseSync, salt: string): void {
  atOnce(database, () => {
    if (pragma(database, 'user_version') !== 0) return;
    const { tables } = database.prepare('SELECT COUNT(*) AS tables FROM sqlite_schema').get() ?? {};
    if (tables !== 0) throw new ForeignFileError('it belongs to another program');
    database.exec(schema);
    database.prepare('INSERT INTO meta VALUES (?, ?)').run('salt', salt);
  });
}

/** Brings a ledger of an earlier release to the shape of this one. */
function migrate(database: DatabaseSync): void {
  if (pragma(database, 'user_version') === schemaVersion) return;
  atOnce(database, () => {
    for (let step = migrations[version(database)]; step !== undefined; step = migrations[version(database)]) {
      database.exec(step);
    }
  });
}

/** All of it or nothing. Another process may be about the same: what is to be done is seen within. */
function atOnce(database: DatabaseSync, work: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    work();
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function assertOurs(database: DatabaseSync): void {
  if (pragma(database, 'application_id') !== applicationId) throw new ForeignFileError('it is no ledger');
  if (version(database) > schemaVersion) {
    throw new ForeignFileError('a later release has written it');
  }
}

function version(database: DatabaseSync): number {
  return Number(pragma(database, 'user_version'));
}

function pragma(database: DatabaseSync, name: string): unknown {
  return database.prepare(`PRAGMA ${name}`).get()?.[name];
}

function restrict(file: string): void {
  try {
    chmodSync(file, 0o600);
  } catch {
    // Whoever owns it has decided about it.
  }
}
