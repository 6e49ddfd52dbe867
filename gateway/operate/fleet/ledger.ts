import type { FleetSettings } from '../../config/snapshot.ts';
import { messageOf } from '../../shared/text.ts';
import type { LedgerDatabase, LedgerValue } from '../../usage/ledger/database.ts';
import { lossesVersion, schemaVersion } from '../../usage/ledger/schema.ts';
import type { StoreMemory } from './membership.ts';
import { type PooledConnection, Postgres, type Sql, StoreError } from './postgres.ts';
import { awaitQueued, lastQueued, whileQueueIsClosed } from './queuedBatches.ts';
import { assertReadable, refusedStatement, schemaName } from './schema.ts';

// The limit of one statement. Together with the time to connect, it is shorter than the admin API waits for an answer.
const defaultTimeoutMs = 20_000;
// The server cancels a statement after this share of the timeout. The client gives up later, in case the server hangs.
const serverShare = 0.9;
// Compiling a statement, or starting processes that run it in parallel, costs more CPU time than these statements take.
const plannerSettings = 'SET LOCAL jit = off; SET LOCAL max_parallel_workers_per_gather = 0';
// After so many times in which batches arrived while others were added, the gateways have to wait.
const mostAdditions = 3;

/** The ledger that the gateways of a fleet share, for reading. Runs one statement at a time, each within a transaction. */
export class FleetLedger implements LedgerDatabase {
  readonly inListSql = '= ANY (?)';
  /** Unlike a ledger file, the store is never replaced by another one while the gateway runs. */
  readonly isCurrent = true;
  readonly isShared = true;
  /** What the store must have. Set before a query. Undefined: nothing is known. */
  memory: StoreMemory | undefined;
  readonly #postgres: Postgres;
  readonly #beginSql: string;
  /** True from `begin` to `end`. */
  #hasBegun = false;
  #connection: PooledConnection | undefined;
  /** The first failure since `begin`. The transaction has then ended, so further statements cannot run. */
  #failure: unknown;

  private constructor(postgres: Postgres, timeoutMs: number) {
    this.#postgres = postgres;
    this.#beginSql = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path TO ${schemaName};
      SET LOCAL statement_timeout = ${Math.floor(timeoutMs * serverShare)}; ${plannerSettings}`;
  }

  /**
   * Connects at the first statement. `timeoutMs`: for one statement.
   * @throws StoreError if `pg` is not installed or the password cannot be read
   */
  static async open(
    settings: Pick<FleetSettings, 'store' | 'passwordFile'>,
    timeoutMs = defaultTimeoutMs,
  ): Promise<FleetLedger> {
    return new FleetLedger(await Postgres.open(settings, { queryTimeoutMs: timeoutMs }), timeoutMs);
  }

  /** At least the version of this release: `assertReadable` rejects a store that lacks a table or column. */
  async schemaVersion(): Promise<number> {
    return Math.max(schemaVersion, lossesVersion);
  }

  async all<Row extends object>(sql: string, values: readonly LedgerValue[]): Promise<Row[]> {
    if (this.#hasBegun) return this.#run(sql, values);
    await this.begin();
    try {
      return await this.#run<Row>(sql, values);
    } finally {
      await this.end();
    }
  }

  async begin(): Promise<void> {
    this.#hasBegun = true;
  }

  async end(): Promise<void> {
    const connection = this.#connection;
    this.#hasBegun = false;
    this.#connection = this.#failure = undefined;
    if (connection === undefined) return;
    if (!connection.isBroken) await connection.query('ROLLBACK').catch(() => {});
    connection.release();
  }

  problemOf(error: unknown): string {
    const isAnswer = error instanceof StoreError && error.isAnswer;
    const reason = messageOf(error);
    return `The fleet's store cannot be ${isAnswer ? 'read' : 'reached'}: ${reason.replace(/\.$/, '')}.`;
  }

  async close(): Promise<void> {
    await this.end();
    await this.#postgres.close();
  }

  async #run<Row extends object>(sql: string, values: readonly LedgerValue[]): Promise<Row[]> {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      this.#connection ??= await this.#beginTransaction();
      return await this.#connection.query<Row>(numbered(sql), values);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }

  /** The sums have every batch whose confirmation the transaction sees: a gateway may have left after the confirmation. */
  async #beginTransaction(): Promise<PooledConnection> {
    const connection = await this.#postgres.connect();
    // Set here, so that `end` releases the connection if one of these statements fails.
    this.#connection = connection;
    for (let additions = 0; additions < mostAdditions; additions += 1)
      if (await this.#beginIfAdded(connection)) return connection;
    await whileQueueIsClosed(this.#postgres, async () => {
      const hasBegun = (await this.#beginIfAdded(connection)) || (await this.#beginIfAdded(connection));
      // A replica does not know the lock.
      if (!hasBegun) throw new StoreError('batches arrive while others are added up.  Ask again', refusedStatement);
    });
    return connection;
  }

  /** @returns false if batches were queued: they are added now, and no transaction has begun */
  async #beginIfAdded(connection: PooledConnection): Promise<boolean> {
    await connection.query(this.#beginSql);
    await assertReadable(connection);
    await assertCompared(connection);
    await assertRemembered(connection, this.memory);
    const last = await lastQueued(connection);
    if (last === undefined) return true;
    await connection.query('ROLLBACK');
    await awaitQueued(connection, last);
    return false;
  }
}

/**
 * Checks, in the transaction of a query, that the store still has what it confirmed to this gateway: otherwise it was set back since the
 * last heartbeat, and counts of any gateway may be missing. @throws StoreError
 */
async function assertRemembered(sql: Sql, memory: StoreMemory | undefined): Promise<void> {
  if (memory === undefined) return;
  const { instance, epoch, beat, acknowledged } = memory;
  const [row] = await sql.query<{ beat: boolean; batch: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM gateways WHERE instance = $1 AND epoch >= $2 AND (epoch > $2 OR beat >= $3)) AS beat,
      $4::uuid IS NULL OR EXISTS (SELECT 1 FROM writers WHERE instance = $4 AND epoch = $5 AND seq >= $6) AS batch`,
    [instance, epoch, beat, acknowledged?.instance ?? null, acknowledged?.epoch ?? null, acknowledged?.seq ?? null],
  );
  if (row?.beat && row.batch) return;
  throw new StoreError(
    'it was set back to an earlier time, so counts may be missing.  Ask again in a few seconds',
    refusedStatement,
  );
}

/**
 * Checks that the store is not one that was moved, restored or promoted, and that no gateway has compared with what it remembers: counts
 * may be missing. @throws StoreError
 */
async function assertCompared(sql: Sql): Promise<void> {
  const [row] = await sql.query<{ is_moved: boolean }>('SELECT cardinality(moved_ids()) > 0 AS is_moved');
  if (!row?.is_moved) return;
  throw new StoreError(
    'it was moved, restored or promoted, and no gateway has compared it yet with what it remembers, so counts may be missing.  Ask again when the gateways run',
    refusedStatement,
  );
}

/** The statement with `$1`, `$2`, … in place of each `?`. */
function numbered(sql: string): string {
  let number = 0;
  return sql.replaceAll('?', () => `$${++number}`);
}
