import type { FleetSettings, Snapshot } from '../../../config/snapshot.ts';
import { toPlain } from '../../../config/transfer.ts';
import { threadFile } from '../../../shared/packageFiles.ts';
import { SupervisedThread, ThreadEnd } from '../../../shared/supervisedThread.ts';
import { capitalized } from '../../../shared/text.ts';
import type { WritableLedger } from '../../../usage/ledger/writableLedger.ts';
import type { StoreMemory } from '../../fleet/membership.ts';
import {
  type LedgerAnswers,
  type LedgerQueryKind,
  type LedgerQueryParams,
  LedgerUnansweredError,
  type ReaderReply,
  type ReaderRequest,
} from './ledgerClient.ts';

// A query may wait this long until it starts, and then again this long for its answer.
const defaultTimeoutMs = 30_000;

export interface ReadingThreadOptions {
  readonly ledger: WritableLedger;
  /** The settings at the start, because changed settings take effect at the next start. Undefined: the ledger file is read. */
  readonly fleet: FleetSettings | undefined;
  readonly timeoutMs: number | undefined;
  /** What the shared store must have. */
  readonly memory: () => StoreMemory | undefined;
}

/** Runs queries in a thread, one after the other. The first query starts the thread. */
export class ReadingThread {
  readonly #ledger: WritableLedger;
  readonly #fleet: FleetSettings | undefined;
  readonly #timeoutMs: number;
  readonly #memory: () => StoreMemory | undefined;
  readonly #thread: SupervisedThread<ReaderRequest, ReaderReply>;
  /** The snapshot that the thread has. */
  #sentSnapshot: Snapshot | undefined;
  /** Settles when the query that was added last has ended. */
  #lastQuery: Promise<unknown> = Promise.resolve();
  #unanswered = 0;

  constructor({ ledger, fleet, timeoutMs = defaultTimeoutMs, memory }: ReadingThreadOptions) {
    this.#ledger = ledger;
    this.#fleet = fleet;
    this.#timeoutMs = timeoutMs;
    this.#memory = memory;
    this.#thread = new SupervisedThread<ReaderRequest, ReaderReply>({
      file: threadFile('operate/admin/reading/worker'),
      task: 'reads the usage ledger',
      answerMs: timeoutMs,
      onEnd: () => {
        this.#sentSnapshot = undefined;
      },
    });
  }

  /** Whether a query runs or waits. */
  get isBusy(): boolean {
    return this.#unanswered > 0;
  }

  query<Kind extends LedgerQueryKind>(
    kind: Kind,
    snapshot: Snapshot,
    parameters: LedgerQueryParams[Kind],
  ): Promise<LedgerAnswers[Kind]> {
    const queuedAt = performance.now();
    // Queries are sent one after the other: the thread runs one at a time, and each query has its own timeout.
    const answer = this.#lastQuery.then(() => {
      if (performance.now() - queuedAt > this.#timeoutMs)
        throw new LedgerUnansweredError('Too many queries are waiting for the usage ledger.');
      return this.#run(kind, snapshot, parameters);
    });
    this.#unanswered += 1;
    const end = (): void => {
      this.#unanswered -= 1;
    };
    this.#lastQuery = answer.then(end, end);
    return answer as Promise<LedgerAnswers[Kind]>;
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }

  async #run(
    kind: LedgerQueryKind,
    snapshot: Snapshot,
    parameters: LedgerQueryParams[LedgerQueryKind],
  ): Promise<LedgerAnswers[LedgerQueryKind]> {
    // Some rows may still be in memory. They are written first, so that the answer includes them.
    await this.#ledger.flush();
    try {
      return (await this.#thread.ask(() => this.#requestFor(kind, snapshot, parameters))).answer;
    } catch (error) {
      if (!(error instanceof ThreadEnd)) throw error;
      throw new LedgerUnansweredError(`${capitalized(error.message)}.`);
    }
  }

  #requestFor(
    kind: LedgerQueryKind,
    snapshot: Snapshot,
    parameters: LedgerQueryParams[LedgerQueryKind],
  ): Omit<ReaderRequest, 'number'> {
    const { settings, problem: writeProblem, unwrittenRows } = this.#ledger;
    const isNew = snapshot !== this.#sentSnapshot;
    this.#sentSnapshot = snapshot;
    const { store: file, names: namesFile } = settings;
    const ledger = { file, fleet: this.#fleet, memory: this.#memory(), namesFile, writeProblem, unwrittenRows };
    return { kind, parameters, snapshot: isNew ? toPlain(snapshot) : undefined, ledger };
  }
}
