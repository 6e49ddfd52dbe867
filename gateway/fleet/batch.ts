import type { Sql } from './postgres.ts';
import { schemaName } from './schema.ts';

/** One batch of counts, as it waits in the outbox of a gateway. Instants in epoch ms. */
export interface FleetBatch {
  /** The gateway. */
  readonly instance: string;
  /** The run of the gateway. */
  readonly epoch: number;
  /** The number of the batch in this run, from 1. */
  readonly seq: number;
  /** The start of the run, or of the time since which it has counted without a gap. */
  readonly began: number;
  readonly seen: number;
  /** When coverage restarted; undefined if it continues. */
  readonly restarted: number | undefined;
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

/** Adds a batch to the store, exactly once however often it is sent. @throws StoreError */
export async function writeBatch(sql: Sql, batch: FleetBatch): Promise<BatchOutcome> {
  const { instance, epoch, seq, began, seen, restarted, salt, rows } = batch;
  const [row] = await sql.query<{ outcome: BatchOutcome }>(
    `SELECT ${schemaName}.write_batch_1($1, $2, $3, $4, $5, $6, $7, $8) AS outcome`,
    [instance, epoch, seq, began, seen, restarted ?? null, salt, rows],
  );
  return row?.outcome ?? 'applied';
}
