import type { BrownoutRecord, UsageBatch } from '../usageRow.ts';
import type { OutboxState } from './outbox.ts';
import type { LedgerSettings, LedgerState } from './writableLedger.ts';

/** The `workerData` of the thread that writes the ledger. */
export interface LedgerWorkerData {
  readonly settings: LedgerSettings;
  readonly salt: string;
  /** A random id of the gateway process, the same for all its threads. */
  readonly session: string;
  /** Why coverage restarts with this thread; undefined if it continues. */
  readonly interruption: string | undefined;
}

/** A message to that thread. It answers each with a `LedgerReport` of the same number. */
export type LedgerCommand =
  | { readonly kind: 'write'; readonly number: number; readonly batch: UsageBatch }
  | { readonly kind: 'configure'; readonly number: number; readonly settings: LedgerSettings }
  | { readonly kind: 'sent'; readonly number: number; readonly epoch: number; readonly seq: number }
  | { readonly kind: 'adoptSalt'; readonly number: number; readonly salt: string }
  | { readonly kind: 'brownouts'; readonly number: number; readonly records: readonly BrownoutRecord[] }
  | { readonly kind: 'maintain'; readonly number: number; readonly now: number }
  | { readonly kind: 'close'; readonly number: number };

export interface LedgerReport extends LedgerState {
  readonly kind: 'state';
  /** The number of the last command that was carried out; 0: none yet. */
  readonly number: number;
  /** What waits for the shared store of the fleet; undefined without a fleet. */
  readonly outbox: OutboxState | undefined;
}

/** A line for the operator. */
export interface LedgerNotice {
  readonly kind: 'notice';
  readonly line: string;
}
