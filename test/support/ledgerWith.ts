import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Ledger } from '../../gateway/usage/ledger/ledger.ts';
import type { UsageBatch, UsageRow } from '../../gateway/usage/usageRow.ts';
import { readLedger } from './readLedger.ts';

export const hour = 3_600_000;
export const day = 24 * hour;

/** Creates a ledger on disk with these rows and coverage since `covered` (epoch ms). Removed at the end of the test. */
export function ledgerWith(rows: UsageBatch, covered: number, tagKey?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  const file = join(folder, 'usage.db');
  let time = covered;
  const ledger = Ledger.open({ store: file, retention: 400 * day, tagKey }, { clock: { now: () => time } });
  onTestFinished(() => {
    ledger.close();
    rmSync(folder, { recursive: true, force: true });
  });
  time = rows.reduce((latest, { last }) => Math.max(latest, last), covered);
  ledger.add(rows);
  return { ledger, file, queries: readLedger(ledger) };
}

/** A row with the requests of a client to a version at the time `at` (epoch ms). */
export function row(version: string, client: string, at: number, more: Partial<UsageRow> = {}): UsageRow {
  const requests = more.requests ?? 1;
  const counts = { requests, errors: 0, served: requests, failing: 0, refused: 0, first: at, last: at };
  const uses = { used: at, accepted: at, body: 0, target: 0, head: 0 };
  return { version, client, route: 'GET /drinks', hour: Math.floor(at / hour) * hour, ...counts, ...uses, ...more };
}

/**
 * Creates the ledger `store` of a gateway that ran for the ten days before `now` (epoch ms) and received only these requests. It served
 * the API at the root, and those with these bases.
 */
export function coverTenDays(
  store: string,
  now = Date.now(),
  rows: UsageBatch = [],
  bases: readonly string[] = [],
): void {
  let time = now - 10 * day;
  const ledger = Ledger.open({ store, retention: 400 * day, bases }, { clock: { now: () => time } });
  ledger.add([]);
  time = now;
  ledger.add(rows);
  ledger.close();
}
