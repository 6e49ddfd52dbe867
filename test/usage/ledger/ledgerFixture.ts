import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import type { LedgerSettings } from '../../../gateway/usage/ledger/writableLedger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { dayMs, noon } from '../model.ts';

export interface Opened {
  readonly ledger: Ledger;
  readonly store: string;
  readonly clock: { time: number; now(): number };
  readonly notices: string[];
}

export function openLedger(part: Partial<LedgerSettings> = {}, at = noon): Opened {
  const store = part.store ?? join(temporaryFolder(), 'kept', 'usage.db');
  const clock = { time: at, now: () => clock.time };
  const notices: string[] = [];
  const onNotice = (notice: string): void => void notices.push(notice);
  const ledger = Ledger.open({ store, retention: 400 * dayMs, ...part }, { clock, onNotice });
  onTestFinished(() => ledger.close());
  return { ledger, store, clock, notices };
}

/** `ok`, or the first fault that SQLite finds in the file. */
export function integrityOf(store: string): unknown {
  const database = new DatabaseSync(store);
  try {
    return database.prepare('PRAGMA integrity_check').get()?.['integrity_check'];
  } finally {
    database.close();
  }
}
