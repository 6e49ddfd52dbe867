import type { AnswerSettings } from '../../config/answerSettings.ts';
import type { UsageSettings } from '../../config/snapshot.ts';
import type { Loss } from '../evidence/coverage.ts';
import type { BrownoutRecord, EvidenceRow, UsageBatch } from '../usageRow.ts';
import type { CallMarks, CountedMark, MarksAtStart } from './callMarks.ts';
import type { NameLimits } from './nameLimits.ts';
import type { OutboxState } from './outbox.ts';

export type LedgerSettings = Pick<UsageSettings, 'store' | 'retention'> &
  Partial<Pick<UsageSettings, 'identify' | 'tagKey' | 'names' | 'maxClients' | 'maxRoutes'>> & {
    /** In a fleet: how much may wait for the shared store, bytes. */
    readonly spool?: number;
    /** The settings under which the requests are answered that the ledger counts. */
    readonly answers?: AnswerSettings;
    /** Whose calls are counted, but not marked: which client of which API, as of `ignoredClientsOf`. */
    readonly unmarked?: readonly string[];
    /** The bases of the APIs whose calls are counted, except the one at the root. Undefined: they stay as they are. */
    readonly bases?: readonly string[];
  };

/** An event that is over and after which coverage had to restart. */
export interface Incident {
  /** Epoch ms. */
  readonly at: number;
  /** Sentences for the operator. */
  readonly text: string;
}

/** The state of a ledger that the gateway reports. */
export interface LedgerState {
  /**
   * The salt of the tags. It changes when a file that could not be read at the start becomes readable, and when the gateway
   * takes over the salt of its fleet.
   */
  readonly salt: string;
  /** Why the ledger cannot be written; undefined: it can. */
  readonly problem: string | undefined;
  /** The last incident of this run. */
  readonly lastIncident: Incident | undefined;
  /** Rows that wait in memory until they can be written. */
  readonly unwrittenRows: number;
  /** Since when rows have waited in memory without a pause, epoch ms; undefined: none wait. */
  readonly unwrittenSince: number | undefined;
  /** Requests that the ledger moved to `other clients` since the start. Those that the collector moved are not included. */
  readonly movedRequests: number;
  /** What was decided about brownouts; undefined: the file could not be opened yet. */
  readonly brownouts: readonly BrownoutRecord[] | undefined;
}

/** A ledger that the gateway writes, in its own thread or in another one. Nothing throws. */
export interface WritableLedger extends LedgerState {
  readonly settings: LedgerSettings;
  /** Applies the settings of a reload. A changed `store`, `tagKey` or `spool` takes effect at the next start. */
  configure(settings: LedgerSettings): void;
  /** The marks of the versions that are called. Undefined: no call is marked. */
  readonly marks?: CallMarks | undefined;
  /**
   * Writes a batch, or keeps it until it can be written. An empty batch records that the gateway still runs. `counted`: with this
   * batch, all calls of one serving process up to a mark are counted.
   */
  add(batch: UsageBatch, counted?: CountedMark): void;
  /**
   * Records that calls may be missing, as soon as the file can be written. `counted`: set if a process has ended before it had counted
   * all of its calls: those that `losses` account for.
   */
  addLosses(losses: readonly Loss[], counted?: CountedMark): void;
  /** Stores what was decided about brownouts. A stored decision is replaced only if its state is `approved`. */
  saveBrownouts(records: readonly BrownoutRecord[]): void;
  /** Adds to the evidence about responses. Rows that cannot be written soon are lost. */
  saveEvidence(rows: readonly EvidenceRow[]): void;
  /** Resolves once every batch that was added before is written, or kept in memory because it cannot be written. */
  flush(): Promise<void>;
  /** Deletes what is older than the retention. Applies the limits on names exactly; `add` may exceed them a little. `now`: epoch ms. */
  maintain(now: number): void;
  /** Writes the waiting rows if possible. */
  close(): void | Promise<void>;
}

/** The limits on the number of names. Without a setting, there is no limit. */
export function nameLimitsOf({
  maxClients = Number.MAX_SAFE_INTEGER,
  maxRoutes = Number.MAX_SAFE_INTEGER,
}: LedgerSettings): NameLimits {
  return { client: maxClients, route: maxRoutes };
}

/** The `workerData` of the thread that writes the ledger. */
export interface LedgerWorkerData {
  readonly settings: LedgerSettings;
  readonly salt: string;
  /** A random id of the gateway process, the same for all its threads. */
  readonly session: string;
  /** Why coverage restarts with this thread; undefined if it continues. */
  readonly gapReason: string | undefined;
  readonly marksAtStart: MarksAtStart | undefined;
  /** The run that an earlier thread of this process has begun in the file. Undefined: none has written to it. */
  readonly earlierRun: number | undefined;
  /** Whether another process writes to the file, too: it may still count, so its run stays open. */
  readonly isShared: boolean;
}

/** A message to the thread that writes the ledger. The thread answers each message with a `LedgerReport` of the same number. */
export type LedgerCommand =
  | {
      readonly kind: 'write';
      readonly number: number;
      readonly batch: UsageBatch;
      readonly counted: readonly CountedMark[];
    }
  | {
      readonly kind: 'losses';
      readonly number: number;
      readonly losses: readonly Loss[];
      readonly counted: CountedMark | undefined;
    }
  | { readonly kind: 'configure'; readonly number: number; readonly settings: LedgerSettings }
  // `epoch` and `seq` are the numbers of the run and of the batch that the store of the fleet has got.
  | { readonly kind: 'sent'; readonly number: number; readonly epoch: number; readonly seq: number }
  | { readonly kind: 'adoptSalt'; readonly number: number; readonly salt: string }
  | { readonly kind: 'brownouts'; readonly number: number; readonly records: readonly BrownoutRecord[] }
  | { readonly kind: 'evidence'; readonly number: number; readonly rows: readonly EvidenceRow[] }
  | { readonly kind: 'maintain'; readonly number: number; readonly now: number }
  | { readonly kind: 'close'; readonly number: number };

export interface LedgerReport extends LedgerState {
  readonly kind: 'state';
  /** The number of the last command that was carried out; 0: none yet. */
  readonly number: number;
  /** Losses that wait in memory until they can be written. */
  readonly unwrittenLosses: number;
  /** What waits for the shared store of the fleet; undefined without a fleet. */
  readonly outbox: OutboxState | undefined;
  /** The id of the current run in the file. Undefined: it is not in the file yet. */
  readonly run: number | undefined;
}

/** A line for the operator. */
export interface LedgerNotice {
  readonly kind: 'notice';
  readonly line: string;
}
