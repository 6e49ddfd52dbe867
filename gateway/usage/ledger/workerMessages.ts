import type { UsageBatch } from '../usageRow.ts';
import type { Incident, LedgerSettings } from './writableLedger.ts';

/** What the thread that writes the ledger begins with. */
export interface LedgerStart {
  readonly settings: LedgerSettings;
  readonly salt: string;
  /** The same for every thread of a gateway, and for no other gateway. */
  readonly session: string;
  /** Why coverage starts again, if it does. */
  readonly interruption: string | undefined;
}

/** What the gateway tells that thread; each order is answered by one `LedgerState` with its number. */
export type LedgerCommand =
  | { readonly kind: 'write'; readonly number: number; readonly batch: UsageBatch }
  | { readonly kind: 'configure'; readonly number: number; readonly settings: LedgerSettings }
  | { readonly kind: 'maintain'; readonly number: number; readonly now: number }
  | { readonly kind: 'close'; readonly number: number };

export interface LedgerState {
  readonly kind: 'state';
  /** Of the last order that was carried out; 0: of none yet. */
  readonly number: number;
  readonly salt: string;
  readonly problem: string | undefined;
  readonly incident: Incident | undefined;
  readonly held: number;
  readonly foldedHere: number;
}

/** A line for the operator. */
export interface LedgerNotice {
  readonly kind: 'notice';
  readonly line: string;
}
