import { setTimeout as sleep } from 'node:timers/promises';
import type { FleetSettings } from '../../config/snapshot.ts';
import { messageOf } from '../../shared/text.ts';
import { Postgres, type Sql, StoreError } from './postgres.ts';
import { queueLock, refusedStatement, schemaName } from './schema.ts';

// Queued batches are confirmed, but not added to the sums yet (`batchFunctions.ts`).

// One transaction adds about this many rows, which takes a second or two. More rows cost less CPU time per row.
const rowsPerTransaction = 64_000;
const fewestRowsPerTransaction = 1_000;
// A queued batch is added after about this time. Then there are batches of several gateways that can be added together.
const delayMs = 2_000;
// The limit of one transaction. The server goes on if the connection of the client ends.
const statementTimeoutMs = 60_000;
// insufficient_privilege, read_only_sql_transaction
const readOnlyCodes = ['42501', '25006'];
// The running gateways add queued batches in a fraction of this time.
const defaultReadOnlyWaitMs = 10_000;
const pollMs = 200;
// The longest time in which a reader that hangs keeps batches from being queued.
const closedMs = 10_000;
const cannotAdd =
  'it has confirmed counts that are not added up yet, and this role may only read.  Use the role of the gateways';

/** The number of the last queued batch. Undefined: no batch is queued. @throws StoreError */
export async function lastQueued(sql: Sql): Promise<number | undefined> {
  const [row] = await sql.query<{ last: number | null }>(`SELECT MAX(id) AS last FROM ${schemaName}.queued_batches`);
  return row?.last ?? undefined;
}

/** Adds the queued batches with numbers up to `last`, in several transactions. @throws StoreError */
export async function addQueued(sql: Sql, last: number): Promise<void> {
  while ((await addGroup(sql, last, true)) === true);
}

/**
 * Adds queued batches with numbers up to `last` (undefined: all), in one transaction. `waits`: also if another gateway adds batches now,
 * after it is done. @returns whether such batches are left; undefined: another gateway adds batches @throws StoreError
 */
async function addGroup(sql: Sql, last: number | undefined, waits: boolean): Promise<boolean | undefined> {
  for (let mostRows = rowsPerTransaction; ; mostRows = Math.floor(mostRows / 4)) {
    try {
      const [row] = await sql.query<{ left: boolean | null }>(`SELECT ${schemaName}.add_queued_1($1, $2, $3) AS left`, [
        last ?? null,
        waits,
        mostRows,
      ]);
      return row?.left ?? undefined;
    } catch (error) {
      if (!isCanceled(error) || mostRows < fewestRowsPerTransaction) throw error;
    }
  }
}

/** Adds all batches that are queued now. @throws StoreError */
export async function addAllQueued(sql: Sql): Promise<void> {
  const last = await lastQueued(sql);
  if (last !== undefined) await addQueued(sql, last);
}

/**
 * Makes the sums contain the queued batches with numbers up to `last`: adds them, or waits until a gateway has done so, if this role or
 * this server only reads. `readOnlyWaitMs`: how long it waits at most. @throws StoreError
 */
export async function awaitQueued(sql: Sql, last: number, readOnlyWaitMs = defaultReadOnlyWaitMs): Promise<void> {
  try {
    await addQueued(sql, last);
  } catch (error) {
    if (!(error instanceof StoreError && readOnlyCodes.includes(error.code ?? ''))) throw error;
    const deadline = performance.now() + readOnlyWaitMs;
    while (await isQueued(sql, last)) {
      if (performance.now() > deadline) throw new StoreError(cannotAdd, refusedStatement);
      await sleep(pollMs);
    }
  }
}

/** Runs `work` while no batch can be put into the queue. The gateways wait, so this has to be short. @throws StoreError */
export function whileQueueIsClosed(store: Pick<Postgres, 'transaction'>, work: () => Promise<void>): Promise<void> {
  return store.transaction(async (sql) => {
    await sql.query(`SET LOCAL idle_in_transaction_session_timeout = ${closedMs}`);
    await sql.query(`SELECT pg_advisory_xact_lock(${queueLock})`);
    await work();
  });
}

async function isQueued(sql: Sql, last: number): Promise<boolean> {
  const rows = await sql.query(`SELECT 1 FROM ${schemaName}.queued_batches WHERE id <= $1 LIMIT 1`, [last]);
  return rows.length > 0;
}

/** The server has a `statement_timeout` that is shorter than the statement took. */
function isCanceled(error: unknown): boolean {
  return error instanceof StoreError && error.code === '57014';
}

/** Adds the batches that this gateway has queued, and those of the others, unless another gateway has done so. */
export class QueuedBatchAdder {
  readonly #settings: Pick<FleetSettings, 'store' | 'passwordFile'>;
  readonly #store: Sql;
  readonly #onProblem: (problem: string | undefined) => void;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** `store`: for short statements. `onProblem`: called after each attempt, with the reason if it failed. */
  constructor(
    settings: Pick<FleetSettings, 'store' | 'passwordFile'>,
    store: Sql,
    onProblem: (problem: string | undefined) => void = () => {},
  ) {
    this.#settings = settings;
    this.#store = store;
    this.#onProblem = onProblem;
  }

  /** Called after a batch of this gateway was put into the queue. */
  onQueued(): void {
    if (this.#isStopped) return;
    this.#timer ??= setTimeout(() => void this.#addDue(), delayMs).unref();
  }

  /** Adds some of the queued batches, or waits a moment while another gateway does so. @throws StoreError */
  async makeRoom(): Promise<void> {
    if ((await this.#add(undefined)) === undefined) await sleep(pollMs * (0.5 + Math.random()));
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #addDue(): Promise<void> {
    let isDone = false;
    try {
      const [row] = await this.#store.query<{ last: number | null }>(
        `SELECT MAX(id) AS last FROM ${schemaName}.queued_batches
          HAVING MIN(queued) < clock_timestamp() - ${delayMs / 2} * interval '1 ms'`,
      );
      // If no batch is old enough, another gateway has added those of this one.
      let isLeft: boolean | undefined = row?.last != null;
      while (isLeft) isLeft = await this.#add(row?.last ?? undefined);
      isDone = isLeft === false;
      this.#onProblem(undefined);
    } catch (error) {
      this.#onProblem(messageOf(error));
    }
    this.#timer = undefined;
    if (!isDone) this.onQueued();
  }

  /** As `addGroup`, without waiting. A new connection costs more than to ask first whether another gateway adds batches. */
  async #add(last: number | undefined): Promise<boolean | undefined> {
    const [row] = await this.#store.query<{ left: boolean | null }>(
      `SELECT ${schemaName}.add_queued_1(NULL, false, 0) AS left`,
    );
    if (row?.left == null) return undefined;
    // The transaction may take longer than other statements may: the store would count as lost.
    const postgres = await Postgres.open(this.#settings, { connections: 1, queryTimeoutMs: statementTimeoutMs });
    try {
      return await addGroup(postgres, last, false);
    } finally {
      await postgres.close();
    }
  }
}
