import type { UsageSettings } from '../../config/snapshot.ts';
import type { Clock } from '../../shared/clock.ts';
import type { UsageBatch } from '../usageRow.ts';
import type { NameCounts } from './nameLimits.ts';

export type LedgerSettings = Pick<UsageSettings, 'store' | 'retention'> &
  Partial<Pick<UsageSettings, 'names' | 'maxClients' | 'maxRoutes'>>;

export interface LedgerOptions {
  readonly clock: Clock;
  /** Is told, in one line, of what an operator should know and can do nothing about later. */
  readonly onNotice?: (notice: string) => void;
  /** The salt of a new file; by default a random one. */
  readonly salt?: string;
  /** Why coverage starts again, if it does. */
  readonly interruption?: string | undefined;
}

/** Something that interrupted what the ledger covers, and is over. `at`: epoch ms. */
export interface Incident {
  readonly at: number;
  /** Sentences for people. */
  readonly text: string;
}

/** What the gateway needs of the ledger that it writes, in this thread or in another one. Nothing throws. */
export interface WritableLedger {
  readonly settings: LedgerSettings;
  /** For the tags of secrets. It changes only if the file could not be read at the start, and then can be. */
  readonly salt: string;
  /** What keeps the ledger from being written; undefined: nothing. */
  readonly problem: string | undefined;
  /** The last one of this run. */
  readonly incident: Incident | undefined;
  /** Rows that wait in memory until they can be written. */
  readonly held: number;
  /** Requests that were counted as `other clients` here, and not before they came, since the start. */
  readonly foldedHere: number;
  /** Settings of a reload; `store` counts from the next start on. */
  configure(settings: LedgerSettings): void;
  /** Takes a batch to write. An empty one records that the gateway still runs. */
  add(batch: UsageBatch): void;
  /** Resolves once every batch added before is written, or waits because it cannot be. */
  flush(): Promise<void>;
  /** Deletes what is older than the retention, and applies the limits exactly. `now`: epoch ms. */
  maintain(now: number): void;
  /** Writes what waits, if that is possible. */
  close(): void | Promise<void>;
}

/** Without settings there are no limits. */
export function limitsOf({
  maxClients = Number.MAX_SAFE_INTEGER,
  maxRoutes = Number.MAX_SAFE_INTEGER,
}: LedgerSettings): NameCounts {
  return { client: maxClients, route: maxRoutes };
}
