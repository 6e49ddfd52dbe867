import type { FleetSettings } from '../config/snapshot.ts';
import type { LedgerDatabase, LedgerValue } from '../usage/ledger/database.ts';
import { schemaVersion } from '../usage/ledger/schema.ts';
import { type PooledConnection, Postgres, StoreError } from './postgres.ts';
import { assertReadable, schemaName } from './schema.ts';

// With the time to connect, less than the admin API waits for an answer.
const defaultTimeoutMs = 20_000;
// The server cancels a slow statement. The client gives up later, in case the server does not answer at all.
const serverShare = 0.9;

/** The ledger that the gateways of a fleet share, for reading. Runs one statement at a time, each within a transaction. */
export class FleetLedger implements LedgerDatabase {
  readonly isInList = '= ANY (?)';
  readonly isCurrent = true;
  readonly hasInstances = true;
  readonly #postgres: Postgres;
  readonly #beginning: string;
  #isInSnapshot = false;
  #connection: PooledConnection | undefined;
  /** The first failure of a snapshot. The transaction has then ended, so that the other statements cannot run. */
  #failure: unknown;

  private constructor(postgres: Postgres, timeoutMs: number) {
    this.#postgres = postgres;
    this.#beginning = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path TO ${schemaName};
      SET LOCAL statement_timeout = ${Math.floor(timeoutMs * serverShare)}; SET LOCAL jit = off`;
  }

  /**
   * Connects at the first statement. `timeoutMs`: for one statement.
   * @throws StoreError if `pg` is not installed or the password cannot be read
   */
  static async open(
    settings: Pick<FleetSettings, 'store' | 'passwordFile'>,
    timeoutMs = defaultTimeoutMs,
  ): Promise<FleetLedger> {
    return new FleetLedger(await Postgres.open(settings, { connections: 1, queryTimeoutMs: timeoutMs }), timeoutMs);
  }

  /** The store is readable only if it has all columns. */
  async schemaVersion(): Promise<number> {
    return schemaVersion;
  }

  async all<Row extends object>(sql: string, values: readonly LedgerValue[]): Promise<Row[]> {
    if (this.#isInSnapshot) return this.#run(sql, values);
    await this.begin();
    try {
      return await this.#run<Row>(sql, values);
    } finally {
      await this.end();
    }
  }

  async begin(): Promise<void> {
    this.#isInSnapshot = true;
  }

  async end(): Promise<void> {
    const connection = this.#connection;
    this.#isInSnapshot = false;
    this.#connection = this.#failure = undefined;
    if (connection === undefined) return;
    if (!connection.isBroken) await connection.query('ROLLBACK').catch(() => {});
    connection.release();
  }

  problemOf(error: unknown): string {
    const isAnswer = error instanceof StoreError && error.isAnswer;
    const reason = error instanceof Error ? error.message : String(error);
    return `The fleet's store cannot be ${isAnswer ? 'read' : 'reached'}: ${reason.replace(/\.$/, '')}.`;
  }

  async close(): Promise<void> {
    await this.end();
    await this.#postgres.close();
  }

  async #run<Row extends object>(sql: string, values: readonly LedgerValue[]): Promise<Row[]> {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      this.#connection ??= await this.#begun();
      return await this.#connection.query<Row>(numbered(sql), values);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  async #begun(): Promise<PooledConnection> {
    const connection = await this.#postgres.connect();
    // So that `end` releases it if one of these statements fails.
    this.#connection = connection;
    await connection.query(this.#beginning);
    await assertReadable(connection);
    return connection;
  }
}

/** The statement with `$1`, `$2`, … in place of each `?`. */
function numbered(sql: string): string {
  let number = 0;
  return sql.replaceAll('?', () => `$${++number}`);
}
