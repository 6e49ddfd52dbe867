import { statSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { failureOf } from './failure.ts';
import { openLedgerFileToRead } from './file.ts';

export type LedgerValue = string | number | readonly number[];

/** A database with the tables of `schema.ts`, for reading. Every implementation runs the same statements. */
export interface LedgerDatabase {
  /** True for a column whose value is in the list that is bound to its `?`. Written after the column. */
  readonly isInList: string;
  /** False if the gateway now writes to another database. */
  readonly isCurrent: boolean;
  schemaVersion(): Promise<number>;
  /** Runs a statement. The values are bound to its `?`, in order. */
  all<Row extends object>(sql: string, values: readonly LedgerValue[]): Promise<Row[]>;
  /** Until `end`, statements read one state of the database, even if it is written to at the same time. */
  begin(): Promise<void>;
  /** Never rejects. */
  end(): Promise<void>;
  /** An error of the methods above as a sentence for the operator. */
  problemOf(error: unknown): string;
  close(): Promise<void>;
}

/** The ledger file of a gateway, which another process or thread may be writing. */
export class LedgerFile implements LedgerDatabase {
  readonly isInList = 'IN (SELECT value FROM json_each(?))';
  readonly #file: string;
  readonly #inode: number | undefined;
  readonly #database: DatabaseSync;

  /** @throws Error with the reason why `file` cannot be read, without its name */
  constructor(file: string) {
    this.#file = file;
    this.#database = openLedgerFileToRead(file);
    this.#inode = inodeOf(file);
  }

  /** False if the file was removed or replaced. */
  get isCurrent(): boolean {
    return this.#inode !== undefined && inodeOf(this.#file) === this.#inode;
  }

  async schemaVersion(): Promise<number> {
    return Number(this.#database.prepare('PRAGMA user_version').get()?.['user_version']);
  }

  async all<Row extends object>(sql: string, values: readonly LedgerValue[]): Promise<Row[]> {
    const rows = this.#database.prepare(sql).all(...values.map(bound));
    return rows as (Record<string, SQLInputValue> & Row)[];
  }

  async begin(): Promise<void> {
    this.#database.exec('BEGIN');
  }

  async end(): Promise<void> {
    if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('COMMIT');
  }

  problemOf(error: unknown): string {
    return `${this.#file} cannot be read: ${failureOf(error).reason}.`;
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

function bound(value: LedgerValue): SQLInputValue {
  return typeof value === 'object' ? JSON.stringify(value) : value;
}
