import { Worker } from 'node:worker_threads';
import type { FleetSettings, Snapshot } from '../../config/snapshot.ts';
import { toPlain } from '../../config/transfer.ts';
import type { StoreMemory } from '../../fleet/membership.ts';
import { threadFile } from '../../shared/packageFiles.ts';
import type { WritableLedger } from '../../usage/ledger/writableLedger.ts';
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

interface PendingQuery {
  readonly worker: Worker;
  readonly resolve: (answer: LedgerAnswers[LedgerQueryKind]) => void;
  readonly reject: (error: LedgerUnansweredError) => void;
}

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
  #worker: Worker | undefined;
  /** The snapshot that the thread has. */
  #sentSnapshot: Snapshot | undefined;
  /** Settles when the query that was added last has ended. */
  #lastQuery: Promise<unknown> = Promise.resolve();
  #pending: PendingQuery | undefined;
  #unanswered = 0;
  #isClosed = false;

  constructor({ ledger, fleet, timeoutMs = defaultTimeoutMs, memory }: ReadingThreadOptions) {
    this.#ledger = ledger;
    this.#fleet = fleet;
    this.#timeoutMs = timeoutMs;
    this.#memory = memory;
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
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  async #run(
    kind: LedgerQueryKind,
    snapshot: Snapshot,
    parameters: LedgerQueryParams[LedgerQueryKind],
  ): Promise<LedgerAnswers[LedgerQueryKind]> {
    // Some rows may still be in memory. They are written first, so that the answer includes them.
    await this.#ledger.flush();
    if (this.#isClosed) throw new LedgerUnansweredError('The gateway stops.');
    const worker = this.#startedWorker();
    const { promise, resolve, reject } = Promise.withResolvers<LedgerAnswers[LedgerQueryKind]>();
    this.#pending = { worker, resolve, reject };
    const timer = setTimeout(() => {
      this.#onEnd(worker, `The usage ledger was not read within ${this.#timeoutMs / 1000} s.`);
      void worker.terminate();
    }, this.#timeoutMs).unref();
    worker.postMessage(this.#requestFor(kind, snapshot, parameters));
    return promise.finally(() => clearTimeout(timer));
  }

  #startedWorker(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(threadFile('admin/reading/worker'));
    this.#worker = worker;
    const endMessage = 'The thread that reads the usage ledger has ended';
    worker.on('message', ({ answer }: ReaderReply) => this.#pendingOf(worker)?.resolve(answer));
    worker.on('error', (error) =>
      this.#onEnd(worker, `${endMessage}: ${error instanceof Error ? error.message : error}.`),
    );
    worker.on('exit', () => this.#onEnd(worker, `${endMessage}.`));
    worker.unref();
    return worker;
  }

  #pendingOf(worker: Worker): PendingQuery | undefined {
    return this.#pending?.worker === worker ? this.#pending : undefined;
  }

  /** The next query starts a new thread. */
  #onEnd(worker: Worker, message: string): void {
    this.#pendingOf(worker)?.reject(new LedgerUnansweredError(message));
    if (this.#worker !== worker) return;
    this.#worker = this.#sentSnapshot = undefined;
  }

  #requestFor(
    kind: LedgerQueryKind,
    snapshot: Snapshot,
    parameters: LedgerQueryParams[LedgerQueryKind],
  ): ReaderRequest {
    const { settings, problem: writeProblem, unwrittenRows } = this.#ledger;
    const isNew = snapshot !== this.#sentSnapshot;
    this.#sentSnapshot = snapshot;
    const { store: file, names: namesFile } = settings;
    const ledger = { file, fleet: this.#fleet, memory: this.#memory(), namesFile, writeProblem, unwrittenRows };
    return { kind, parameters, snapshot: isNew ? toPlain(snapshot) : undefined, ledger };
  }
}
