import { randomUUID } from 'node:crypto';
import type { Sql } from '../../../gateway/operate/fleet/postgres.ts';
import { addAllQueued } from '../../../gateway/operate/fleet/queuedBatches.ts';
import { type BatchOutcome, type FleetBatch, writeBatch } from '../../../gateway/operate/fleet/shipper.ts';
import type { UsageRow } from '../../../gateway/usage/usageRow.ts';

export const hour = Date.parse('2026-11-20T23:00:00Z');

export function rowOf(row: Partial<UsageRow>): UsageRow {
  const counts = { requests: 1, errors: 0, served: 1, failing: 0, refused: 0 };
  const times = { hour, first: hour + 1000, last: hour + 2000, used: hour + 2000, accepted: hour + 2000 };
  const sizes = { body: 0, target: 0, head: 0 };
  return { version: 'v1', client: 'user-agent:curl', route: 'GET /drinks', ...counts, ...times, ...sizes, ...row };
}

/** The first batch of a new gateway. */
export function batchOf(rows: readonly UsageRow[], batch: Partial<FleetBatch> = {}): FleetBatch {
  const run = { instance: randomUUID(), epoch: 1, seq: 1, began: hour, seen: hour + 5000, restarted: undefined };
  return { ...run, salt: 'ours', rows: JSON.stringify(rows), ...batch };
}

/** Writes a batch, and adds it to the sums if it was queued. */
export async function addBatch(sql: Sql, batch: FleetBatch): Promise<BatchOutcome> {
  const outcome = await writeBatch(sql, batch);
  await addAllQueued(sql);
  return outcome;
}
