import { setTimeout as sleep } from 'node:timers/promises';
import { openLedgerFileToRead } from '../../usage/ledger/file.ts';
import type { OutboxState } from '../../usage/ledger/outbox.ts';
import type { Sql } from './postgres.ts';
import { addAllQueued } from './queuedBatches.ts';
import { schemaName } from './schema.ts';
import { isStatementFailure, isTransient } from './storeConnection.ts';

// The pause after a failure, doubled with each failure in a row.
const firstPauseMs = 250;
const longestPauseMs = 4_000;
// If the ledger has not removed a sent batch after this time, the batch is sent again. The store then answers `known`.
const removalMs = 1_000;

/** One batch of counts, as it waits in the outbox of a gateway. Instants in epoch ms. */
export interface FleetBatch {
  /** The id of the gateway. */
  readonly instance: string;
  /** The number of the gateway's run. */
  readonly epoch: number;
  /** The number of the batch in this run, from 1. */
  readonly seq: number;
  /** Since when the run has counted without a gap: since its start, or since the last gap ended. */
  readonly began: number;
  /** The end of the time that the run has counted so far. */
  readonly seen: number;
  /** When coverage restarted; undefined if it continues. */
  readonly restarted: number | undefined;
  /** The calls of this gateway that may be missing in the ledger: a list of `Loss`, as JSON. Absent: none are. */
  readonly losses?: string;
  /** The salt of the tags in the rows. */
  readonly salt: string;
  /** The `UsageBatch` as JSON. */
  readonly rows: string;
}

/**
 * `applied`: the counts were added. `known`: the store had the batch already. `gap`: the store had lost earlier batches of
 * this gateway, so coverage restarts.
 */
export type BatchOutcome = 'applied' | 'known' | 'gap';

export interface ShipperEvents {
  /** The store has the batch, so the ledger can remove it. Call `onOutbox` after that. */
  readonly onSent: (batch: FleetBatch, outcome: BatchOutcome) => void;
  /** The store answers, but does not accept the batch. It is sent again later. */
  readonly onRefused: (reason: string) => void;
  readonly queue: BatchQueue;
}

/** The queue of batches in the store. */
export interface BatchQueue {
  /** A batch was put into the queue. */
  onQueued(): void;
  /** Adds the queued batches: the queue takes no more. */
  makeRoom(): Promise<void>;
}

/** Sends the batches of the outbox to the store, in order, each until the store has it. */
export class Shipper {
  readonly #store: Sql;
  readonly #file: string;
  readonly #events: ShipperEvents;
  readonly #stopping = new AbortController();
  #oldest: OutboxState['oldest'];
  /** Its promise resolves when `#oldest` or `#registered` changes, or when the shipper is stopped. */
  #changed = Promise.withResolvers<void>();
  #failuresInARow = 0;
  /** The run of which the store has a heartbeat. */
  #registered: Pick<FleetBatch, 'instance' | 'epoch'> | undefined;

  /** `file`: the ledger. */
  constructor(store: Sql, file: string, events: ShipperEvents) {
    this.#store = store;
    this.#file = file;
    this.#events = events;
  }

  /** `oldest`: the oldest batch that waits. */
  onOutbox(oldest: OutboxState['oldest']): void {
    if (oldest?.epoch === this.#oldest?.epoch && oldest?.seq === this.#oldest?.seq) return;
    this.#oldest = oldest;
    this.#wake();
  }

  /** The store has a heartbeat of this run. `instance`, `epoch`: as in `FleetBatch`. */
  onRegistered({ instance, epoch }: Pick<FleetBatch, 'instance' | 'epoch'>): void {
    if (instance === this.#registered?.instance && epoch === this.#registered.epoch) return;
    this.#registered = { instance, epoch };
    this.#wake();
  }

  /** Resolves after `stop`. */
  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      if (this.#oldest === undefined) await this.#changed.promise;
      else await this.#sendOldest();
    }
  }

  /** Waits until nothing is left to send, at most `ms`. @returns whether nothing is left */
  async drain(ms: number): Promise<boolean> {
    const late = this.#pause(ms).then(() => 'late');
    while (this.#oldest !== undefined) if ((await Promise.race([this.#changed.promise, late])) === 'late') break;
    return this.#oldest === undefined;
  }

  stop(): void {
    this.#stopping.abort();
    this.#changed.resolve();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /**
   * With its first heartbeat, a run compares the store with what it remembers. A batch that the store took before that would prove
   * nothing about the counts from before this run.
   */
  #isRegistered({ instance, epoch }: FleetBatch): boolean {
    return instance === this.#registered?.instance && epoch <= this.#registered.epoch;
  }

  async #sendOldest(): Promise<void> {
    try {
      const batch = readOldestBatch(this.#file);
      if (batch === undefined || !this.#isRegistered(batch)) return void (await this.#awaitChange());
      const outcome = await writeBatch(this.#store, batch, this.#events.queue);
      this.#failuresInARow = 0;
      const removal = this.#awaitChange();
      this.#events.onSent(batch, outcome);
      await removal;
    } catch (error) {
      if (isStatementFailure(error) && !isTransient(error)) this.#events.onRefused(error.message);
      await this.#pause(this.#pauseMsAfter(error));
    }
  }

  /** Waits until the ledger has removed the oldest batch, or a run is registered, at most `removalMs`. */
  async #awaitChange(): Promise<void> {
    const limit = new AbortController();
    const signal = AbortSignal.any([limit.signal, this.#stopping.signal]);
    await Promise.race([this.#changed.promise, sleep(removalMs, undefined, { signal }).catch(() => {})]);
    limit.abort();
  }

  /** The pause has jitter, so that the gateways of a fleet do not all send at the same moment. */
  #pauseMsAfter(error: unknown): number {
    if (isTransient(error)) return firstPauseMs * Math.random();
    this.#failuresInARow += 1;
    return Math.min(longestPauseMs, firstPauseMs * 2 ** (this.#failuresInARow - 1)) * (0.5 + Math.random() / 2);
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}

/** The oldest batch in the ledger. Reading it does not delay the ledger thread. @throws Error with the reason */
function readOldestBatch(file: string): FleetBatch | undefined {
  // Opened for each batch, because the file may be replaced at any time. To open it takes less than a millisecond.
  const database = openLedgerFileToRead(file);
  try {
    const row = database
      .prepare(
        `SELECT (SELECT value FROM meta WHERE key = 'instance') AS instance, epoch, seq, began, seen, restarted,
          COALESCE(losses, '[]') AS losses, salt, rows
          FROM outbox WHERE rows IS NOT NULL ORDER BY epoch, seq LIMIT 1`,
      )
      .get();
    if (row === undefined) return undefined;
    const { instance, epoch, seq, began, seen, restarted, losses, salt, rows } = row;
    return {
      instance: String(instance),
      epoch: Number(epoch),
      seq: Number(seq),
      began: Number(began),
      seen: Number(seen),
      restarted: restarted === null ? undefined : Number(restarted),
      losses: String(losses),
      salt: String(salt),
      rows: String(rows),
    };
  } finally {
    database.close();
  }
}

/**
 * Adds a batch to the store, or puts it into the queue of the store. The store takes it only once, even if it is sent again.
 * Without `queue`, a queued batch waits until somebody reads the sums or adds the batches of other gateways. @throws StoreError
 */
export async function writeBatch(
  sql: Sql,
  batch: FleetBatch,
  queue: BatchQueue = { onQueued: () => {}, makeRoom: () => addAllQueued(sql) },
): Promise<BatchOutcome> {
  const { instance, epoch, seq, began, seen, restarted, losses = '[]', salt, rows } = batch;
  for (;;) {
    const [row] = await sql.query<{ outcome: BatchOutcome | 'full'; is_queued: boolean }>(
      `SELECT outcome, is_queued FROM ${schemaName}.write_batch_2($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [instance, epoch, seq, began, seen, restarted ?? null, losses, salt, rows],
    );
    if (row?.is_queued) queue.onQueued();
    const outcome = row?.outcome ?? 'applied';
    if (outcome !== 'full') return outcome;
    await queue.makeRoom();
  }
}
