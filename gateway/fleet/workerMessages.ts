import type { FleetSettings } from '../config/snapshot.ts';
import type { LedgerSettings } from '../usage/ledger/writableLedger.ts';

/** The `workerData` of the thread that talks to the shared store. */
export interface FleetWorkerData {
  readonly settings: FleetSettings;
  readonly ledger: LedgerSettings;
  /** The salt of the ledger. */
  readonly salt: string;
}

/** A message to that thread. */
export type FleetCommand =
  /** The thread ends after at most `ms`. */
  { readonly kind: 'stop'; readonly ms: number };

/** A message from that thread. */
export type FleetReport =
  /** The thread runs; it has not contacted the store yet. */
  | { readonly kind: 'started' }
  /** The thread cannot run: for example, the package `pg` is missing. */
  | { readonly kind: 'unusable'; readonly reason: string }
  /** The store was lost, for this reason, or answers: undefined. */
  | { readonly kind: 'store'; readonly problem: string | undefined }
  /** The salt of the fleet. */
  | { readonly kind: 'salt'; readonly salt: string }
  /** A line for the operator. */
  | { readonly kind: 'notice'; readonly line: string };
