import { randomBytes } from 'node:crypto';
import { type BigIntStats, closeSync, openSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { damageIn, openLedgerFile } from './file.ts';
import { dateToPresent, latestRequest } from './maintenance.ts';
import { LedgerWriter } from './writer.ts';

type Stats = BigIntStats | undefined;

/** What another program did to the file while it is open here. */
export interface Tampering {
  /** The file is no longer at its path: later writes would be lost. */
  readonly removed: boolean;
  readonly reason: string;
}

/** The ledger's file while it is open, and the run that is noted in it. */
export class LedgerStore {
  readonly database: DatabaseSync;
  readonly writer: LedgerWriter;
  /** As the file has it, which is the one that was asked for only if the file is new. */
  readonly salt: string;
  /** Of the last batch in the file that had one. */
  readonly mark: string;
  /** The latest instant that the file knew of when it was opened, epoch ms. */
  readonly latest: number;
  readonly #file: string;
  /** The file and its journal, as they were left after the last transaction. */
  #left: { readonly file: Stats; readonly journal: Stats };
  #run: number | undefined;
  #seen = 0;

  /** Throws what the system or SQLite says. */
  constructor(file: string, salt: string) {
    this.#file = file;
    this.database = openLedgerFile(file, salt);
    try {
      this.#left = this.#stats();
      this.writer = new LedgerWriter(this.database);
      const meta = this.database.prepare('SELECT value FROM meta WHERE key = ?');
      this.salt = String(meta.get('salt')?.['value'] ?? salt);
      const { seen } = this.database.prepare('SELECT MAX(seen) AS seen FROM runs').get() ?? {};
      this.latest = Math.max(Number(seen ?? 0), latestRequest(this.database));
      this.mark = String(meta.get('mark')?.['value'] ?? '');
    } catch (error) {
      this.database.close();
      throw error;
    }
  }

  /** Whether nobody else has touched the file since the last transaction. */
  get isAsLeft(): boolean {
    const [now, left] = [this.#stats(), this.#left];
    const isSame = now.file?.ino === left.file?.ino && now.file?.mtimeNs === left.file?.mtimeNs;
    return isSame && now.file?.size === left.file?.size && now.journal?.ino === left.journal?.ino;
  }

  /** What somebody else did to the file since the last transaction; undefined: nothing that matters. */
  get tampering(): Tampering | undefined {
    const now = this.#stats();
    const { file, journal } = this.#left;
    if (now.file?.ino !== file?.ino) return { removed: true, reason: 'it was removed or replaced' };
    if (journal && now.journal?.ino !== journal.ino) return { removed: true, reason: 'its journal was removed' };
    if (this.#run === undefined || this.isAsLeft) return undefined;
    const reason = damageIn(this.#file, this.#run, this.#seen);
    this.#left = now;
    return reason === undefined ? undefined : { removed: false, reason };
  }

  /**
   * All of `work` or nothing; it includes that the gateway ran from `began` until `now`. Throws what SQLite says.
   * @returns how many requests of clients were counted as those of others
   */
  transaction(began: number, now: number, work: () => void): number {
    const { database } = this;
    database.exec('BEGIN IMMEDIATE');
    let run: number | undefined;
    // Of what was undone.
    this.writer.takeFolded();
    try {
      work();
      run = this.#note(began, now);
      database.exec('COMMIT');
      this.#run = run;
      this.#seen = now;
      this.#left = this.#stats();
      return this.writer.takeFolded();
    } catch (error) {
      this.writer.forget();
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
  }

  /** Starts coverage again: a quiet period begins with this run at the earliest. Within `transaction`. */
  restartCoverage(): void {
    this.database.exec('DELETE FROM runs');
    this.#run = undefined;
  }

  /** Dates what lies in the future to `now`. Within `transaction`. */
  dateToPresent(now: number): void {
    dateToPresent(this.database, now);
    this.writer.forget();
  }

  /** Writes a copy to another file. */
  copyTo(file: string): void {
    // SQLite would create it for everybody to read.
    closeSync(openSync(file, 'wx', 0o600));
    this.database.prepare('VACUUM INTO ?').run(file);
  }

  close(): void {
    if (this.database.isOpen) this.database.close();
  }

  #stats(): { file: Stats; journal: Stats } {
    const [file, journal] = ['', '-wal'].map((suffix) =>
      statSync(this.#file + suffix, { bigint: true, throwIfNoEntry: false }),
    );
    return { file, journal };
  }

  #note(began: number, now: number): number {
    if (this.#run === undefined) {
      const row = this.database.prepare('INSERT INTO runs (began, seen) VALUES (?, ?) RETURNING id').get(began, now);
      return Number(row?.['id']);
    }
    this.database.prepare('UPDATE runs SET seen = MAX(seen, ?) WHERE id = ?').run(now, this.#run);
    return this.#run;
  }
}

export function newSalt(): string {
  return randomBytes(16).toString('hex');
}
