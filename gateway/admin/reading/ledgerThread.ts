import { Worker } from 'node:worker_threads';
import type { Snapshot } from '../../config/snapshot.ts';
import { toPlain } from '../../config/transfer.ts';
import type { Incident, WritableLedger } from '../../usage/ledger/writableLedger.ts';
import type { Order, Reply } from './orders.ts';
import { type Answers, type Kind, type LedgerDesk, type Questions, UnansweredQuestion } from './questions.ts';

// As long as that a question may wait for its turn, and as long again for its answer.
const patienceMs = 30_000;

/** As built, the thread's file is JavaScript like this one. */
const threadFile = new URL(import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js', import.meta.url);

interface Pending {
  readonly worker: Worker;
  readonly resolve: (answer: Answers[Kind]) => void;
  readonly reject: (error: UnansweredQuestion) => void;
}

/** Has a ledger read in a thread of its own, so that no question, however long it takes, holds up the traffic. */
export class LedgerThread implements LedgerDesk {
  readonly #ledger: WritableLedger;
  readonly #patience: number;
  #worker: Worker | undefined;
  /** What the thread goes by. */
  #told: Snapshot | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #pending: Pending | undefined;
  #isClosed = false;

  constructor(ledger: WritableLedger, patience = patienceMs) {
    this.#ledger = ledger;
    this.#patience = patience;
  }

  get problem(): string | undefined {
    return this.#ledger.problem;
  }

  get incident(): Incident | undefined {
    return this.#ledger.incident;
  }

  get held(): number {
    return this.#ledger.held;
  }

  get foldedHere(): number {
    return this.#ledger.foldedHere;
  }

  ask<Asked extends Kind>(kind: Asked, snapshot: Snapshot, question: Questions[Asked]): Promise<Answers[Asked]> {
    const since = performance.now();
    // One after the other: the thread can do no more at a time, and each is to have its whole time.
    const answer = this.#last.then(() => {
      if (performance.now() - since > this.#patience)
        throw new UnansweredQuestion('The usage ledger has too much to answer.');
      return this.#answer(kind, snapshot, question);
    });
    this.#last = answer.catch(() => {});
    return answer as Promise<Answers[Asked]>;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  async #answer(kind: Kind, snapshot: Snapshot, question: Questions[Kind]): Promise<Answers[Kind]> {
    // What waits in memory would be missing in the answer.
    await this.#ledger.flush();
    if (this.#isClosed) throw new UnansweredQuestion('The gateway stops.');
    const worker = this.#started();
    const { promise, resolve, reject } = Promise.withResolvers<Answers[Kind]>();
    this.#pending = { worker, resolve, reject };
    const timer = setTimeout(() => {
      this.#gone(worker, `The usage ledger was not read within ${this.#patience / 1000} s.`);
      void worker.terminate();
    }, this.#patience).unref();
    worker.postMessage(this.#order(kind, snapshot, question));
    return promise.finally(() => clearTimeout(timer));
  }

  #started(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(threadFile);
    this.#worker = worker;
    const ended = 'The thread that reads the usage ledger has ended';
    worker.on('message', ({ answer }: Reply) => this.#pendingOf(worker)?.resolve(answer));
    worker.on('error', (error) => this.#gone(worker, `${ended}: ${error instanceof Error ? error.message : error}.`));
    worker.on('exit', () => this.#gone(worker, `${ended}.`));
    worker.unref();
    return worker;
  }

  #pendingOf(worker: Worker): Pending | undefined {
    return this.#pending?.worker === worker ? this.#pending : undefined;
  }

  /** The next question starts another one. */
  #gone(worker: Worker, message: string): void {
    this.#pendingOf(worker)?.reject(new UnansweredQuestion(message));
    if (this.#worker !== worker) return;
    this.#worker = this.#told = undefined;
  }

  #order(kind: Kind, snapshot: Snapshot, question: Questions[Kind]): Order {
    const { settings, problem, held } = this.#ledger;
    const isNew = snapshot !== this.#told;
    this.#told = snapshot;
    const ledger = { file: settings.store, names: settings.names, problem, held };
    return { kind, question, snapshot: isNew ? toPlain(snapshot) : undefined, ledger };
  }
}
