import type { FleetSettings } from '../../config/snapshot.ts';
import type { BatchNumber, OutboxState } from '../../usage/ledger/outbox.ts';
import type { LedgerSettings } from '../../usage/ledger/writableLedger.ts';
import type { BrownoutRecord } from '../../usage/usageRow.ts';
import type { FleetRows } from './fleetView.ts';
import type { ForgetOutcome } from './forget.ts';
import type { GatewayIdentity, GatewayRow, GatewayState, StoreMemory } from './membership.ts';
import type { NewSharedConfig, SharedConfig } from './sharedConfig.ts';
import type { BatchOutcome } from './shipper.ts';

/** The `workerData` of the thread that talks to the shared store. */
export interface FleetWorkerData {
  readonly settings: FleetSettings;
  readonly ledger: LedgerSettings;
  /** The salt of the ledger. */
  readonly salt: string;
}

/** A message to the thread that talks to the shared store. */
export type FleetCommand =
  | MembershipCommand
  /** The settings of the ledger after a reload. */
  | { readonly kind: 'configure'; readonly ledger: LedgerSettings }
  /** What waits in the ledger for the store; undefined: the ledger could not be opened yet. */
  | { readonly kind: 'outbox'; readonly outbox: OutboxState | undefined }
  /** The thread ends once it has sent what waits, or after `ms`. `unwrittenRows`: rows that the ledger could not write. */
  | { readonly kind: 'stop'; readonly ms: number; readonly unwrittenRows: number };

/** A message from the thread that talks to the shared store. */
export type FleetReport =
  | MembershipReport
  /** The thread runs; it has not contacted the store yet. */
  | { readonly kind: 'started' }
  /** The thread cannot run: for example, the package `pg` is missing. */
  | { readonly kind: 'unusable'; readonly reason: string }
  /** `problem`: why the store was lost; undefined: it answers. */
  | { readonly kind: 'store'; readonly problem: string | undefined }
  /** The store has this batch of the outbox. */
  | { readonly kind: 'sent'; readonly epoch: number; readonly seq: number; readonly outcome: BatchOutcome }
  /** The store answers, but does not accept the oldest batch. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** An attempt to add queued batches. `problem`: why it failed; undefined: it has succeeded. */
  | { readonly kind: 'queueAdded'; readonly problem: string | undefined }
  /** The result of a maintenance. `problem`: why it failed; undefined: it has succeeded. */
  | { readonly kind: 'maintained'; readonly problem: string | undefined }
  /** The salt of the fleet. `isReplaced`: `usage.tag_key` of this gateway has just replaced the former salt. */
  | { readonly kind: 'salt'; readonly salt: string; readonly isReplaced: boolean };

/** A message about this gateway as a member of the fleet. `id`: the answer has the same id. */
export type MembershipCommand =
  | {
      readonly kind: 'heartbeat';
      readonly identity: GatewayIdentity;
      readonly state: GatewayState;
      /** The last batch that the store has confirmed, as the ledger file has it. */
      readonly acknowledged: BatchNumber | undefined;
    }
  /** Reads the rows of the gateways, without a heartbeat. */
  | { readonly kind: 'read' }
  | { readonly kind: 'readConfig'; readonly id: number }
  /** Stores the decisions of this gateway, and reads the decisions in effect. */
  | { readonly kind: 'brownouts'; readonly id: number; readonly records: readonly BrownoutRecord[] }
  | { readonly kind: 'writeConfig'; readonly id: number; readonly config: NewSharedConfig }
  | {
      readonly kind: 'forget';
      readonly id: number;
      readonly name: string;
      readonly reason: string;
      /** Epoch ms. */
      readonly endedAt: number | undefined;
      /** The rows of silent gateways with this name, as this gateway read them last. The store may have lost them. */
      readonly lastKnownRows: readonly GatewayRow[];
    };

export type MembershipReport =
  /**
   * After a heartbeat or a `read`. `self`: the id of this gateway. `askedAt`: when the store was asked, in ms of a monotonic clock.
   * `memory`: what the store had before.
   */
  | {
      readonly kind: 'gateways';
      readonly gateways: FleetRows;
      readonly self: string;
      readonly askedAt: number;
      readonly memory: StoreMemory;
    }
  /** A heartbeat has noticed that the store lacks counts that it had. */
  | { readonly kind: 'setBack'; readonly reason: string }
  /** A heartbeat could not be written, or the rows of the gateways could not be read. */
  | { readonly kind: 'heartbeatFailed'; readonly reason: string }
  /** After a check of `fleet.members`. `problem`: why the check cannot tell which gateways are gone. */
  | { readonly kind: 'membersCheck'; readonly problem: string | undefined }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: MembershipAnswer };

/** The result of a command, or why the store did not execute it. */
export type MembershipAnswer =
  | { readonly config: SharedConfig | undefined }
  | { readonly brownouts: readonly BrownoutRecord[] }
  | { readonly outcome: ForgetOutcome }
  | { readonly failure: string };
