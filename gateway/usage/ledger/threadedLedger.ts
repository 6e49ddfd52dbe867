import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { UsageBatch } from '../usageRow.ts';
import { HeldRows, OutageNotices } from './outage.ts';
import { newSalt } from './store.ts';
import type { LedgerCommand, LedgerNotice, LedgerStart, LedgerState } from './workerMessages.ts';
import type { Incident, LedgerSettings, WritableLedger } from './writableLedger.ts';

// A message of so many rows takes a few milliseconds to copy.
const rowsPerOrder = 2_000;
// While so many orders are unanswered, further rows are added up in memory.
const mostUnanswered = 4;
// An order that takes longer is waiting for the disk.
const mostOverdueMs = 10_000;
const openMs = 5_000;
const mostCloseMs = 3_000;

/** As built, the thread's file is JavaScript like this one. */
const workerFile = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);

type Unnumbered<One> = One extends { readonly number: number } ? Omit<One, 'number'> : never;

interface Options {
  /** The thread's file. */
  readonly worker?: URL;
  readonly overdueMs?: number;
  readonly closeMs?: number;
}

interface Flush {
  readonly until: number;
  readonly resolve: () => void;
}

/**
 * A ledger that is written by a thread of its own, so that requests never wait for SQLite or the disk. Orders are kept
 * until the thread has carried them out: if it ends, another thread gets them. Memory is bounded as in `HeldRows`.
 */
export class ThreadedLedger implements WritableLedger {
  settings: LedgerSettings;
  readonly #notice: (line: string) => void;
  readonly #outage: OutageNotices;
  readonly #options: Required<Options>;
  readonly #session = randomUUID();
  #worker: Worker | undefined;
  /** As the thread last reported. */
  #state: LedgerState = {
    kind: 'state',
    number: 0,
    salt: newSalt(),
    problem: undefined,
    incident: undefined,
    held: 0,
    foldedHere: 0,
  };
  #incidentBefore: Incident | undefined;
  #interruption: string | undefined;
  #foldedBefore = 0;
  #failure: string | undefined;
  #number = 0;
  readonly #unanswered: { readonly order: LedgerCommand; readonly since: number }[] = [];
  readonly #backlog = new HeldRows();
  #flushes: Flush[] = [];
  #closing: Promise<void> | undefined;

  private constructor(settings: LedgerSettings, notice: (line: string) => void, options: Options) {
    this.settings = settings;
    this.#notice = notice;
    this.#outage = new OutageNotices(notice);
    this.#options = { worker: workerFile, overdueMs: mostOverdueMs, closeMs: mostCloseMs, ...options };
  }

  /** Resolves once the file is open, or cannot be opened, or a few seconds have passed. `notice` takes lines for the operator. */
  static async open(
    settings: LedgerSettings,
    notice: (line: string) => void = () => {},
    options: Options = {},
  ): Promise<ThreadedLedger> {
    const ledger = new ThreadedLedger(settings, notice, options);
    const worker = ledger.#start();
    await endsWithin(openMs, Promise.race([once(worker, 'message'), once(worker, 'exit')]));
    worker.unref();
    return ledger;
  }

  get salt(): string {
    return this.#state.salt;
  }

  get problem(): string | undefined {
    if (this.#failure !== undefined) return this.#failure;
    if (!this.#isOverdue()) return this.#state.problem;
    const seconds = Math.round(this.#waited() / 1000);
    return `${this.settings.store} cannot be written: the disk has not answered for ${seconds} s.  What is counted is kept in memory until it does.`;
  }

  get incident(): Incident | undefined {
    return this.#state.incident ?? this.#incidentBefore;
  }

  get held(): number {
    return this.#backlog.size + this.#state.held;
  }

  get foldedHere(): number {
    return this.#foldedBefore + this.#state.foldedHere;
  }

  configure(settings: LedgerSettings): void {
    this.settings = { ...settings, store: this.settings.store };
    this.#send({ kind: 'configure', settings: forThread(this.settings) });
  }

  add(batch: UsageBatch): void {
    if (this.#closing) return;
    if (this.#worker === undefined) this.#restart();
    if (this.#unanswered.length < mostUnanswered && this.#backlog.size === 0) this.#send({ kind: 'write', batch });
    else this.#foldedBefore += this.#backlog.hold(batch);
  }

  maintain(now: number): void {
    this.#send({ kind: 'maintain', now });
  }

  async flush(): Promise<void> {
    if (this.#closing || this.#isOverdue()) return;
    if (this.#unanswered.length === 0) this.add([]);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#flushes.push({ until: this.#number + Math.ceil(this.#backlog.size / rowsPerOrder), resolve });
    await endsWithin(this.#options.overdueMs, promise);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    while (this.#backlog.size > 0) this.#sendBacklog();
    this.#send({ kind: 'close' });
    const worker = this.#worker as Worker;
    worker.ref();
    const inTime = await endsWithin(this.#options.closeMs, once(worker, 'exit'));
    worker.unref();
    const rows = this.#unanswered.reduce((sum, { order }) => sum + rowsIn(order), this.#state.held);
    if (rows > 0) this.#notice(`${this.settings.store} was not written in time: ${rows} rows are lost.`);
    if (!inTime) void worker.terminate();
  }

  #isOverdue(): boolean {
    return this.#waited() > this.#options.overdueMs;
  }

  /** For how long the oldest order has not been carried out, in ms. */
  #waited(): number {
    const [oldest] = this.#unanswered;
    return oldest ? performance.now() - oldest.since : 0;
  }

  #send(order: Unnumbered<LedgerCommand>): void {
    this.#number += 1;
    const numbered: LedgerCommand = { ...order, number: this.#number };
    this.#unanswered.push({ order: numbered, since: performance.now() });
    if (this.#worker) this.#worker.postMessage(numbered);
    else this.#restart();
  }

  #sendBacklog(): void {
    const { rows, forget } = this.#backlog.first(rowsPerOrder);
    forget();
    this.#send({ kind: 'write', batch: rows });
  }

  /** Starts the thread again, with everything that the one before has not carried out. */
  #restart(): void {
    const worker = this.#start();
    worker.unref();
    for (const { order } of this.#unanswered) worker.postMessage(order);
  }

  #start(): Worker {
    const workerData: LedgerStart = {
      settings: forThread(this.settings),
      salt: this.salt,
      session: this.#session,
      interruption: this.#interruption,
    };
    const worker = new Worker(this.#options.worker, { workerData });
    this.#worker = worker;
    worker.on('message', (message: LedgerState | LedgerNotice) => {
      if (message.kind === 'notice') this.#notice(message.line);
      else if (worker === this.#worker) this.#onState(message);
    });
    worker.on('error', (error) => this.#onEnd(worker, error instanceof Error ? error.message : String(error)));
    worker.on('exit', (code) => this.#onEnd(worker, `exit code ${code}`));
    return worker;
  }

  #onState(state: LedgerState): void {
    this.#state = state;
    this.#failure = this.#interruption = undefined;
    this.#outage.over('The usage ledger is written again.');
    while ((this.#unanswered[0]?.order.number ?? Number.POSITIVE_INFINITY) <= state.number) this.#unanswered.shift();
    while (this.#backlog.size > 0 && this.#unanswered.length < mostUnanswered) this.#sendBacklog();
    const isIdle = this.#unanswered.length === 0;
    const isDone = ({ until }: Flush): boolean => isIdle || until <= state.number;
    for (const flush of this.#flushes.filter(isDone)) flush.resolve();
    this.#flushes = this.#flushes.filter((flush) => !isDone(flush));
  }

  /** The next order starts another thread. */
  #onEnd(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    if (this.#closing) return;
    const { held, incident, foldedHere } = this.#state;
    this.#failure = `The thread that writes the usage ledger ended: ${reason}.  Another one takes over.`;
    this.#outage.failed(this.#failure);
    if (held > 0) this.#interruption = `${held} rows that the thread could not write were lost with it.`;
    this.#incidentBefore = incident ?? this.#incidentBefore;
    this.#foldedBefore += foldedHere;
    this.#state = { ...this.#state, held: 0, foldedHere: 0 };
  }
}

/** Whether it settles in time. */
async function endsWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, false);
  const settled = promise.then(
    () => true,
    () => true,
  );
  const inTime = await Promise.race([settled, late]);
  clearTimeout(timer);
  return inTime;
}

/** As plain data, and without what only questions need. */
function forThread({ store, retention, maxClients, maxRoutes }: LedgerSettings): LedgerSettings {
  return { store, retention, ...(maxClients && { maxClients }), ...(maxRoutes && { maxRoutes }) };
}

function rowsIn(order: LedgerCommand): number {
  return order.kind === 'write' ? order.batch.length : 0;
}
