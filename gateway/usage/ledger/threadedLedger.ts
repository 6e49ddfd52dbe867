import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { OutageNotices } from '../../shared/outage.ts';
import { threadFile } from '../../shared/packageFiles.ts';
import { settlesWithin, startWorker, type Unnumbered } from '../../shared/supervisedThread.ts';
import { messageOf } from '../../shared/text.ts';
import type { Loss } from '../evidence/coverage.ts';
import { earliest } from '../evidence/targetHealth.ts';
import type { BrownoutRecord, EvidenceRow, UsageBatch } from '../usageRow.ts';
import { CallMarks, type CountedMark } from './callMarks.ts';
import type { OutboxState } from './outbox.ts';
import { newSalt } from './store.ts';
import { WaitingRows } from './waitingRows.ts';
import type {
  Incident,
  LedgerCommand,
  LedgerNotice,
  LedgerReport,
  LedgerSettings,
  LedgerWorkerData,
  WritableLedger,
} from './writableLedger.ts';

// Copying a message of this many rows takes a few milliseconds.
const rowsPerCommand = 2_000;
// While the thread has not answered this many commands, further rows are added up in memory.
const maxUnanswered = 4;
const openWaitMs = 5_000;
// `overdueMs`: a command that takes longer is waiting for the disk.
const defaultOptions = {
  worker: threadFile('usage/ledger/worker'),
  overdueMs: 10_000,
  closeMs: 3_000,
  isShared: false,
};

interface Options {
  /** The file of the thread. */
  readonly worker?: URL;
  readonly overdueMs?: number;
  readonly closeMs?: number;
  /** Whether another process writes to the file, too. */
  readonly isShared?: boolean;
  /** Default: the marks beside the file. */
  readonly marks?: CallMarks;
}

interface Flush {
  /** The last command of the flush: once the thread has answered it, the flush is done. */
  readonly commandNumber: number;
  readonly resolve: () => void;
}

/**
 * A ledger that is written by its own thread, so that requests never wait for SQLite or the disk. Commands are kept until
 * the thread has carried them out. If the thread ends, the next one receives them again. Memory is bounded as in `WaitingRows`.
 */
export class ThreadedLedger implements WritableLedger {
  settings: LedgerSettings;
  readonly marks: CallMarks;
  /** Called after each report of the thread. */
  onReport: (() => void) | undefined;
  readonly #notice: (line: string) => void;
  readonly #outageNotices: OutageNotices;
  readonly #startNotices: OutageNotices;
  readonly #options: Required<Omit<Options, 'marks'>>;
  /** The same for all threads, so that a new thread skips the commands that an earlier one has carried out. */
  readonly #session = randomUUID();
  #worker: Worker | undefined;
  /** The thread's last report. */
  #state: LedgerReport = {
    kind: 'state',
    number: 0,
    salt: '',
    problem: undefined,
    lastIncident: undefined,
    unwrittenRows: 0,
    unwrittenSince: undefined,
    unwrittenLosses: 0,
    movedRequests: 0,
    brownouts: undefined,
    outbox: undefined,
    run: undefined,
  };
  /** The last incident of earlier threads, which interrupted the coverage of the ledger. */
  #incidentBefore: Incident | undefined;
  /** What the last thread lost when it ended. The next thread records it as an incident. */
  #gapReason: string | undefined;
  /** Requests that this class or earlier threads moved to `other clients`. */
  #movedBefore = 0;
  /** Why the last thread ended, until the next one reports. */
  #failure: string | undefined;
  #lastNumber = 0;
  readonly #unanswered: { readonly command: LedgerCommand; readonly since: number }[] = [];
  readonly #backlog = new WaitingRows();
  /** By process, the mark up to which its calls are counted with the rows of the backlog. */
  readonly #counted = new Map<number, number>();
  /** The last run that a thread of this process has begun in the file. */
  #run: number | undefined;
  #flushes: Flush[] = [];
  /** A new salt that the thread has not confirmed. */
  #adopting: { readonly salt: string; readonly number: number } | undefined;
  #closing: Promise<void> | undefined;

  private constructor(settings: LedgerSettings, notice: (line: string) => void, options: Options) {
    this.settings = settings;
    this.#state = { ...this.#state, salt: newSalt(settings) };
    this.#notice = notice;
    this.marks = options.marks ?? CallMarks.open(settings.store, Date.now(), notice);
    this.#outageNotices = new OutageNotices(notice);
    this.#startNotices = new OutageNotices(notice);
    this.#options = { ...defaultOptions, ...options };
  }

  /** Resolves once opening the file has succeeded, failed, or taken a few seconds. `notice` receives lines for the operator. */
  static async open(
    settings: LedgerSettings,
    notice: (line: string) => void = () => {},
    options: Options = {},
  ): Promise<ThreadedLedger> {
    const ledger = new ThreadedLedger(settings, notice, options);
    const worker = ledger.#start();
    if (worker) await settlesWithin(openWaitMs, Promise.race([once(worker, 'message'), once(worker, 'exit')]));
    worker?.unref();
    return ledger;
  }

  get salt(): string {
    return this.#adopting?.salt ?? this.#state.salt;
  }

  /** What waits for the shared store of the fleet; undefined without a fleet, or before the thread has opened the file. */
  get outbox(): OutboxState | undefined {
    return this.#state.outbox;
  }

  get problem(): string | undefined {
    if (this.#failure !== undefined) return this.#failure;
    if (!this.#isOverdue()) return this.#state.problem;
    const seconds = Math.round(this.#oldestAge() / 1000);
    return `${this.settings.store} cannot be written: the disk has not answered for ${seconds} s.  Counts are kept in memory until it does.`;
  }

  get lastIncident(): Incident | undefined {
    return this.#state.lastIncident ?? this.#incidentBefore;
  }

  get unwrittenRows(): number {
    return this.#backlog.size + this.#state.unwrittenRows + (this.#isOverdue() ? this.#unansweredRows : 0);
  }

  get unwrittenSince(): number | undefined {
    const overdueSince = this.#isOverdue() && this.#unansweredRows > 0 ? Date.now() - this.#oldestAge() : undefined;
    return earliest(earliest(this.#backlog.since, this.#state.unwrittenSince), overdueSince);
  }

  /** Whether the file has all rows that were added. */
  get hasWrittenAll(): boolean {
    const { unwrittenRows, unwrittenLosses } = this.#state;
    return this.#unansweredRows + this.#backlog.size + unwrittenRows + unwrittenLosses === 0;
  }

  get movedRequests(): number {
    return this.#movedBefore + this.#state.movedRequests;
  }

  configure(settings: LedgerSettings): void {
    // Changes of these three take effect at the next start.
    const { store, tagKey, spool } = this.settings;
    // `unmarked` applies to calls that are counted later.
    while (this.#backlog.size > 0 && !this.#closing) this.#sendBacklog();
    this.settings = { ...settings, store, tagKey, ...(spool !== undefined && { spool }) };
    this.#send({ kind: 'configure', settings: this.settings });
  }

  add(batch: UsageBatch, counted?: CountedMark): void {
    if (this.#closing) return;
    if (this.#worker === undefined) this.#restart();
    if (counted) this.#counted.set(counted.process, counted.until);
    const isBehind = this.#unanswered.length >= maxUnanswered || this.#backlog.size > 0;
    if (isBehind) this.#movedBefore += this.#backlog.keepOrFold(batch);
    else this.#send({ kind: 'write', batch, counted: this.#takeCounted() });
  }

  addLosses(losses: readonly Loss[], counted?: CountedMark): void {
    if (this.#closing) return;
    // The rows that the process has counted before are written first.
    while (this.#backlog.size > 0) this.#sendBacklog();
    this.#send({ kind: 'losses', losses, counted });
  }

  /** Removes a batch that the shared store has. */
  removeSent(epoch: number, seq: number): void {
    if (!this.#closing) this.#send({ kind: 'sent', epoch, seq });
  }

  /** Replaces the salt of the tags. Batches that were added before keep the old one. */
  adoptSalt(salt: string): void {
    if (this.#closing) return;
    while (this.#backlog.size > 0) this.#sendBacklog();
    this.#send({ kind: 'adoptSalt', salt });
    this.#adopting = { salt, number: this.#lastNumber };
  }

  get brownouts(): readonly BrownoutRecord[] | undefined {
    return this.#state.brownouts;
  }

  saveBrownouts(records: readonly BrownoutRecord[]): void {
    if (!this.#closing) this.#send({ kind: 'brownouts', records });
  }

  saveEvidence(rows: readonly EvidenceRow[]): void {
    if (!this.#closing && this.#unanswered.length < maxUnanswered) this.#send({ kind: 'evidence', rows });
  }

  maintain(now: number): void {
    this.#send({ kind: 'maintain', now });
  }

  async flush(): Promise<void> {
    if (this.#closing || this.#isOverdue()) return;
    // An empty batch lets the thread write the rows that wait in its memory.
    if (this.#unanswered.length === 0) this.add([]);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#flushes.push({ commandNumber: this.#lastNumber + Math.ceil(this.#backlog.size / rowsPerCommand), resolve });
    await settlesWithin(this.#options.overdueMs, promise);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    while (this.#backlog.size > 0) this.#sendBacklog();
    if (this.#counted.size > 0) this.#send({ kind: 'write', batch: [], counted: this.#takeCounted() });
    this.#send({ kind: 'close' });
    const worker = this.#worker;
    worker?.ref();
    const inTime = worker === undefined || (await settlesWithin(this.#options.closeMs, once(worker, 'exit')));
    worker?.unref();
    const rows = this.#unansweredRows + this.#state.unwrittenRows;
    if (rows > 0) this.#notice(`${this.settings.store} was not written in time: ${rows} rows are lost.`);
    if (!inTime) void worker?.terminate();
  }

  get #unansweredRows(): number {
    return this.#unanswered.reduce((sum, { command: one }) => sum + (one.kind === 'write' ? one.batch.length : 0), 0);
  }

  #isOverdue(): boolean {
    return this.#oldestAge() > this.#options.overdueMs;
  }

  /** The age of the oldest unanswered command, ms. */
  #oldestAge(): number {
    const [oldest] = this.#unanswered;
    return oldest ? performance.now() - oldest.since : 0;
  }

  #send(unnumbered: Unnumbered<LedgerCommand>): void {
    this.#lastNumber += 1;
    const command: LedgerCommand = { ...unnumbered, number: this.#lastNumber };
    this.#unanswered.push({ command, since: performance.now() });
    if (this.#worker) this.#worker.postMessage(command);
    else this.#restart();
  }

  #sendBacklog(): void {
    const { rows, remove } = this.#backlog.first(rowsPerCommand);
    remove();
    this.#send({ kind: 'write', batch: rows, counted: this.#backlog.size > 0 ? [] : this.#takeCounted() });
  }

  #takeCounted(): CountedMark[] {
    const counted = [...this.#counted].map(([process, until]) => ({ process, until }));
    this.#counted.clear();
    return counted;
  }

  /** Starts a new thread and sends it every unanswered command. If none can be started, the next command tries it again. */
  #restart(): void {
    const worker = this.#start();
    if (worker === undefined) return;
    worker.unref();
    for (const { command } of this.#unanswered) worker.postMessage(command);
  }

  #start(): Worker | undefined {
    const workerData: LedgerWorkerData = {
      settings: this.settings,
      salt: this.salt,
      session: this.#session,
      gapReason: this.#gapReason,
      marksAtStart: this.marks.atStart,
      earlierRun: this.#run,
      isShared: this.#options.isShared,
    };
    const worker = startWorker(this.#options.worker, { workerData });
    if ('reason' in worker) {
      this.#failure = `The thread that writes the usage ledger cannot be started: ${worker.reason}.  Counts are kept in memory until it can be.`;
      this.#startNotices.failed(this.#failure);
      return undefined;
    }
    this.#startNotices.recovered('The thread that writes the usage ledger is started.');
    this.#worker = worker;
    worker.on('message', (message: LedgerReport | LedgerNotice) => {
      if (message.kind === 'notice') this.#notice(message.line);
      else if (worker === this.#worker) this.#onState(message);
    });
    worker.on('error', (error) => this.#onEnd(worker, messageOf(error)));
    worker.on('exit', (code) => this.#onEnd(worker, `exit code ${code}`));
    return worker;
  }

  #onState(state: LedgerReport): void {
    this.#state = state;
    this.#failure = this.#gapReason = undefined;
    if (this.#run === undefined && state.run !== undefined) this.marks.onRecorded();
    this.#run = state.run ?? this.#run;
    this.#outageNotices.recovered('The usage ledger is written again.');
    if (this.#adopting && this.#adopting.number <= state.number) this.#adopting = undefined;
    while ((this.#unanswered[0]?.command.number ?? Number.POSITIVE_INFINITY) <= state.number) this.#unanswered.shift();
    while (this.#backlog.size > 0 && this.#unanswered.length < maxUnanswered) this.#sendBacklog();
    const isIdle = this.#unanswered.length === 0;
    const isDone = ({ commandNumber }: Flush): boolean => isIdle || commandNumber <= state.number;
    for (const flush of this.#flushes.filter(isDone)) flush.resolve();
    this.#flushes = this.#flushes.filter((flush) => !isDone(flush));
    this.onReport?.();
  }

  /** The next command starts a new thread. */
  #onEnd(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    if (this.#closing) return;
    const { unwrittenRows, unwrittenLosses, lastIncident, movedRequests } = this.#state;
    this.#failure = `The thread that writes the usage ledger ended: ${reason}.  A new one is started.`;
    this.#outageNotices.failed(this.#failure);
    if (unwrittenRows + unwrittenLosses > 0)
      this.#gapReason = `What the thread kept in memory is lost: ${unwrittenRows} rows, and which calls may be missing.`;
    this.#incidentBefore = lastIncident ?? this.#incidentBefore;
    this.#movedBefore += movedRequests;
    const nothingWaits = { unwrittenRows: 0, unwrittenSince: undefined, unwrittenLosses: 0 };
    this.#state = { ...this.#state, ...nothingWaits, movedRequests: 0 };
  }
}
