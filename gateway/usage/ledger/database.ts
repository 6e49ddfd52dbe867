import { statSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Loss } from '../evidence/coverage.ts';
import { type MarksAtStart, marksBeside } from './callMarks.ts';
import { ledgerFailure } from './failure.ts';
import { openLedgerFileToRead } from './file.ts';
import { lossesVersion, schemaVersion } from './schema.ts';
import { unmarkedCalls, unrecordedCalls } from './unrecordedCalls.ts';

// Far more than one answer needs.
const maxStatements = 200;

export type LedgerValue = string | number | readonly number[] | readonly string[];

/** A database with the tables of `schema.ts`, for reading. Every implementation runs the same statements. */
export interface LedgerDatabase {
  /** SQL to write after a column: tests whether its value is in the list that is bound to the `?`. */
  readonly inListSql: string;
  /** False if the gateway now writes to another database. */
  readonly isCurrent: boolean;
  /** True if several gateways write to it. Then it also has the requests to each of them. */
  readonly isShared: boolean;
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

/** A ledger whose statements never reject. A statement that fails returns no rows, and so does every statement without a database. */
export class ReportingDatabase {
  readonly inListSql: string;
  readonly isShared: boolean;
  readonly #database: LedgerDatabase | undefined;
  readonly #onProblem: (problem: string) => void;
  /**
   * During `readConsistently`: the rows of each statement, by the JSON of the statement and its values. The queries of one answer
   * often repeat a statement, for the same sums and ids.
   */
  #cachedRows: Map<string, Promise<object[]>> | undefined;

  constructor(database: LedgerDatabase | undefined, onProblem: (problem: string) => void) {
    this.inListSql = database?.inListSql ?? '';
    this.isShared = database?.isShared ?? false;
    this.#database = database;
    this.#onProblem = onProblem;
  }

  async all<Row extends object>(sql: string, values: readonly LedgerValue[] = []): Promise<Row[]> {
    const key = this.#cachedRows && JSON.stringify([sql, values]);
    const cachedRows = key === undefined ? undefined : this.#cachedRows?.get(key);
    const rows =
      cachedRows ?? this.#runOrReport((database) => database.all<Row>(sql, values)).then((found) => found ?? []);
    if (key !== undefined) this.#cachedRows?.set(key, rows);
    // A copy, because a caller may sort its rows.
    return [...((await rows) as Row[])];
  }

  async schemaVersion(): Promise<number> {
    return (await this.#runOrReport((database) => database.schemaVersion())) ?? schemaVersion;
  }

  /** Runs `work` on one state of the database. */
  async readConsistently<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#runOrReport((database) => database.begin());
    this.#cachedRows = new Map();
    try {
      return await work();
    } finally {
      this.#cachedRows = undefined;
      await this.#database?.end();
    }
  }

  async #runOrReport<Result>(work: (database: LedgerDatabase) => Promise<Result>): Promise<Result | undefined> {
    if (this.#database === undefined) return undefined;
    try {
      return await work(this.#database);
    } catch (error) {
      this.#onProblem(this.#database.problemOf(error));
      return undefined;
    }
  }
}

/** The ledger file of a gateway, which another process or thread may be writing. */
export class LedgerFile implements LedgerDatabase {
  readonly inListSql = 'IN (SELECT value FROM json_each(?))';
  readonly isShared = false;
  readonly #file: string;
  readonly #inode: number | undefined;
  readonly #database: DatabaseSync;
  /** By their SQL. SQLite prepares them again if the schema has changed. */
  readonly #statements = new Map<string, StatementSync>();
  /** Between `begin` and `end`: the marks of calls, once they were read. */
  #marks: MarksAtStart | undefined;

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
    return Number(this.#prepared('PRAGMA user_version').get()?.['user_version']);
  }

  async all<Row extends object>(sql: string, values: readonly LedgerValue[]): Promise<Row[]> {
    const rows = this.#prepared(sql).all(...values.map(boundValue));
    return rows as (Record<string, SQLInputValue> & Row)[];
  }

  async begin(): Promise<void> {
    this.#database.exec('BEGIN');
  }

  async end(): Promise<void> {
    this.#marks = undefined;
    if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('COMMIT');
  }

  /** The calls that the gateway of this file has not recorded. `now`: epoch ms. `ignored`: whose calls do not matter, as of `ignoredClientsOf`. */
  async unrecordedCalls(now: number, ignored: readonly string[]): Promise<readonly Loss[]> {
    if ((await this.schemaVersion()) < lossesVersion) return [];
    // Marks that are made later are of calls after the question.
    const marks = this.#marks ?? marksBeside(this.#file, now);
    if (this.#database.isTransaction) this.#marks = marks;
    return [...unrecordedCalls(this.#database, marks, now), ...unmarkedCalls(this.#database, ignored, now)];
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known) return known;
    if (this.#statements.size >= maxStatements) this.#statements.clear();
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  problemOf(error: unknown): string {
    return `${this.#file} cannot be read: ${ledgerFailure(error).reason}.`;
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

function boundValue(value: LedgerValue): SQLInputValue {
  return typeof value === 'object' ? JSON.stringify(value) : value;
}
