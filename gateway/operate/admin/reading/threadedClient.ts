import type { FleetSettings, Snapshot } from '../../../config/snapshot.ts';
import type { Incident, WritableLedger } from '../../../usage/ledger/writableLedger.ts';
import type { StoreMemory } from '../../fleet/membership.ts';
import type { LedgerAnswers, LedgerClient, LedgerQueryKind, LedgerQueryParams } from './ledgerClient.ts';
import { ReadingThread } from './readingThread.ts';

// Somebody waits for these answers to decide something: whether a version may be retired, an edit is applied, or a restriction begins.
const decisions: ReadonlySet<LedgerQueryKind> = new Set([
  'retirement',
  'recentUse',
  'plan',
  'answeredPaths',
  'brownoutEstimate',
  'freeze',
]);

/**
 * Runs queries in a thread, so that no query delays the traffic, however long it takes. While the thread is busy, decisions are
 * answered in another thread, which has its own connection, so that no report delays them. A gateway at rest has one thread, because
 * each takes some megabytes.
 */
export class ThreadedLedgerClient implements LedgerClient {
  readonly #ledger: WritableLedger;
  readonly #thread: ReadingThread;
  readonly #decisionThread: ReadingThread;

  /**
   * `fleet`: the settings at the start, because changed settings take effect at the next start. `memory`: what the shared store must
   * have.
   */
  constructor(
    ledger: WritableLedger,
    fleet?: FleetSettings,
    timeoutMs?: number,
    memory: () => StoreMemory | undefined = () => undefined,
  ) {
    this.#ledger = ledger;
    this.#thread = new ReadingThread({ ledger, fleet, timeoutMs, memory });
    this.#decisionThread = new ReadingThread({ ledger, fleet, timeoutMs, memory });
  }

  get problem(): string | undefined {
    return this.#ledger.problem;
  }

  get lastIncident(): Incident | undefined {
    return this.#ledger.lastIncident;
  }

  get unwrittenSince(): number | undefined {
    return this.#ledger.unwrittenSince;
  }

  get unwrittenRows(): number {
    return this.#ledger.unwrittenRows;
  }

  get movedRequests(): number {
    return this.#ledger.movedRequests;
  }

  query<Kind extends LedgerQueryKind>(
    kind: Kind,
    snapshot: Snapshot,
    parameters: LedgerQueryParams[Kind],
  ): Promise<LedgerAnswers[Kind]> {
    const thread = decisions.has(kind) && this.#thread.isBusy ? this.#decisionThread : this.#thread;
    return thread.query(kind, snapshot, parameters);
  }

  async close(): Promise<void> {
    await Promise.all([this.#thread.close(), this.#decisionThread.close()]);
  }
}
