import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { FleetSettings } from '../../config/snapshot.ts';
import { OutageNotices } from '../../shared/outage.ts';
import { packageVersion, threadFile } from '../../shared/packageFiles.ts';
import { startWorker } from '../../shared/supervisedThread.ts';
import { messageOf, withCommas } from '../../shared/text.ts';
import type { Loss } from '../../usage/evidence/coverage.ts';
import type { OutboxState } from '../../usage/ledger/outbox.ts';
import type { ThreadedLedger } from '../../usage/ledger/threadedLedger.ts';
import type { MetricValues } from '../../usage/observability/exposition.ts';
import type { UsageBatch } from '../../usage/usageRow.ts';
import { type FleetStatusJson, fleetGauges } from './fleetJson.ts';
import { FleetMember } from './fleetMember.ts';
import { StoreError } from './postgres.ts';
import { UnsentCounts } from './unsent.ts';
import type { FleetCommand, FleetReport, FleetWorkerData } from './workerMessages.ts';

const restartDelayMs = 1000;
// A store that answers needs only a fraction of this time. After this time, the gateway starts without an answer.
const firstContactMs = 2000;
// How long an operator who asks for a verdict waits for the counts of this gateway.
const flushMs = 1000;
// How long connections may take to close.
const closeMs = 500;
// How long the ledger may take to store the salt of the fleet.
const adoptionMs = 5000;

const replacedSalt =
  'usage.tag_key of this gateway replaces the salt of the fleet: clients that are known by a tag are counted as new clients. Give all gateways of the fleet the same key: if a gateway has another key, its clients that are known by a tag count as other clients.';
const lostCounts =
  'The shared store of the fleet has lost counts of this gateway that it had confirmed: was it restored from a backup?  Coverage restarts: the time before this does not count towards a quiet period.';

const foldedCounts = ({ spool }: FleetSettings): string =>
  `More than ${withCommas(Math.round(spool / 1024 ** 2))} MiB of counts wait for the shared store: the oldest are added up over all routes, and later over all clients.  Totals stay exact.`;

const refusedCounts = (reason: string): string =>
  `The shared store of the fleet does not accept the counts of this gateway: ${reason}.  They wait on disk and are sent again.`;

const failedAdding = (reason: string): string =>
  `Queued counts in the shared store of the fleet cannot be added up: ${reason}.  This is tried again; until then, reports and verdicts have no answer.`;

const failedMaintenance = (reason: string): string =>
  `The shared store of the fleet cannot be maintained: ${reason}.  This is tried again every hour; until then, counts older than usage.retention are kept.`;

export interface FleetOptions {
  readonly ledger: ThreadedLedger;
  /** Takes a line for the operator. */
  readonly notice?: (line: string) => void;
  /** The file of the thread. */
  readonly worker?: URL;
}

/** This gateway as a part of its fleet. A thread talks to the shared store; if the thread ends, another one is started. */
export class Fleet {
  readonly settings: FleetSettings;
  /** What this gateway and the others know of each other. */
  readonly member: FleetMember;
  readonly #ledger: ThreadedLedger;
  readonly #notice: (line: string) => void;
  readonly #outageNotices: OutageNotices;
  readonly #spoolNotices: OutageNotices;
  readonly #refusalNotices: OutageNotices;
  readonly #addingNotices: OutageNotices;
  readonly #maintenanceNotices: OutageNotices;
  readonly #workerFile: URL;
  #worker: Worker | undefined;
  #restartTimer: NodeJS.Timeout | undefined;
  /** Why the store cannot be used; undefined if it can; null before the thread has contacted it. */
  #problem: string | undefined | null = null;
  /** Each is called once, when the state of the ledger or of the store has changed. */
  #onNextChange: (() => void)[] = [];
  #salt: string | undefined;
  /** When the ledger was last told to adopt the salt, by `performance.now()`. */
  #adoptedAt = Number.NEGATIVE_INFINITY;
  readonly #unsentCounts = new UnsentCounts();
  /** The folded requests in the last report of the ledger. */
  #lastFolded = 0;
  /** The oldest batch in the outbox, as the thread was told last. */
  #announcedOldest: OutboxState['oldest'];
  #isStopping = false;

  private constructor(settings: FleetSettings, options: FleetOptions) {
    const { ledger, notice = () => {}, worker: workerFile = threadFile('operate/fleet/worker') } = options;
    this.settings = settings;
    this.member = new FleetMember({
      settings,
      outbox: () => this.#ledger.outbox,
      unwritten: () => this.#ledger,
      unsentCounts: this.#unsentCounts,
      send: (command) => this.#send(command),
      notice,
      release: packageVersion(),
    });
    this.#ledger = ledger;
    this.#notice = notice;
    this.#outageNotices = new OutageNotices(notice);
    this.#spoolNotices = new OutageNotices(notice);
    this.#refusalNotices = new OutageNotices(notice);
    this.#addingNotices = new OutageNotices(notice);
    this.#maintenanceNotices = new OutageNotices(notice);
    this.#workerFile = workerFile;
    this.#ledger.onReport = () => this.#onLedgerReport();
  }

  /**
   * Does not wait for the store: a gateway serves and counts without it.
   * @throws StoreError if this gateway cannot use any store: the package `pg` is missing, or the password cannot be read
   */
  static async start(settings: FleetSettings, options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(settings, options);
    const worker = fleet.#startThread();
    if (worker === undefined) {
      await fleet.stop(0);
      throw new StoreError(fleet.#problem ?? '');
    }
    const [firstMessage] = (await once(worker, 'message')) as [FleetReport];
    worker.unref();
    if (firstMessage.kind === 'unusable') {
      await fleet.stop(0);
      throw new StoreError(firstMessage.reason);
    }
    // Waits for the first contact with the store, which has the salt of the fleet: only tags under this salt can be compared with those
    // of other gateways.
    await fleet.#waitUntil(() => fleet.#problem !== null, firstContactMs);
    return fleet;
  }

  /** What waits on the disk; undefined: the ledger could not be opened yet. */
  get outbox(): OutboxState | undefined {
    return this.#ledger.outbox;
  }

  /** How much of `fleet.spool` is used. Above 1, waiting counts are added up over all routes, and later over all clients. */
  get spoolRatio(): number {
    return (this.outbox?.bytes ?? 0) / this.settings.spool;
  }

  /** Notes a batch that is about to be added to the ledger. `since`: no request in it ended before this, epoch ms. */
  onBatch(batch: UsageBatch, since: number): void {
    this.#unsentCounts.add(batch, since);
  }

  /** Notes calls that may be missing, and that are about to be added to the ledger. */
  onLosses(losses: readonly Loss[]): void {
    this.#unsentCounts.addLosses(losses);
  }

  /** Called after the ledger got new settings. */
  configure(): void {
    this.#send({ kind: 'configure', ledger: this.#ledger.settings });
  }

  /** Writes the counts to the ledger, and then waits at most a second until the store has them. */
  async flush(): Promise<void> {
    if (!this.isStoreUp) return;
    await this.#ledger.flush();
    await this.#waitUntil(() => this.#isOutboxSent, flushMs);
  }

  /** Whether the store answered the last statement. */
  get isStoreUp(): boolean {
    return this.#problem === undefined;
  }

  /** As `GET /api/status` lists it. */
  json(): FleetStatusJson {
    return { ...this.member.status(), refusal: this.member.refusal ?? null };
  }

  metrics(): readonly MetricValues[] {
    return fleetGauges(this.member, this);
  }

  /** Why the store cannot be used; undefined if it can, or if it was not contacted yet. */
  get storeProblem(): string | undefined {
    return this.#problem ?? undefined;
  }

  /** Sends what waits, and ends the thread, after at most `ms`. The ledger must still be open. */
  async stop(ms: number): Promise<void> {
    const deadline = performance.now() + ms;
    this.#isStopping = true;
    this.member.stop();
    clearTimeout(this.#restartTimer);
    const worker = this.#worker;
    if (worker !== undefined) {
      // events.once() would throw if the thread ends with an error.
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      await Promise.race([this.#ledger.flush(), sleep(ms, undefined, { ref: false })]);
      this.member.announceLastRun();
      this.#announceOldest();
      const remainingMs = Math.max(0, deadline - performance.now());
      this.#send({ kind: 'stop', ms: remainingMs, unwrittenRows: this.#ledger.unwrittenRows });
      // A statement that hangs must not keep the gateway from ending.
      const late = setTimeout(() => void worker.terminate(), remainingMs + closeMs);
      await ended;
      clearTimeout(late);
    }
    this.#ledger.onReport = undefined;
  }

  get #isOutboxSent(): boolean {
    const { outbox } = this.#ledger;
    return outbox !== undefined && outbox.oldest === undefined;
  }

  async #waitUntil(isReached: () => boolean, ms: number): Promise<void> {
    // The timer keeps the process alive: nothing else does before the gateway listens.
    const limit = new AbortController();
    const timeout = sleep(ms, 'timeout' as const, { signal: limit.signal }).catch(() => 'timeout' as const);
    while (!isReached()) {
      const { promise, resolve } = Promise.withResolvers<'changed'>();
      this.#onNextChange.push(() => resolve('changed'));
      if ((await Promise.race([promise, timeout])) === 'timeout') break;
    }
    limit.abort();
  }

  #onChange(): void {
    const callbacks = this.#onNextChange;
    this.#onNextChange = [];
    for (const callback of callbacks) callback();
  }

  #onLedgerReport(): void {
    if (this.outbox) this.#unsentCounts.onOutbox(this.outbox, this.#ledger.hasWrittenAll);
    this.#announceOldest();
    this.#adoptSalt();
    this.#onChange();
    const folded = this.outbox?.folded ?? 0;
    if (folded > this.#lastFolded) this.#spoolNotices.failed(foldedCounts(this.settings));
    else if (this.outbox?.oldest === undefined)
      this.#spoolNotices.recovered('The shared store of the fleet has all counts again.');
    this.#lastFolded = folded;
  }

  /** Tells the thread what to send next. Waking it up for each report of the ledger would cost the serving thread CPU time. */
  #announceOldest(): void {
    const oldest = this.outbox?.oldest;
    const isKnown = oldest?.epoch === this.#announcedOldest?.epoch && oldest?.seq === this.#announcedOldest?.seq;
    // A thread that stops needs the latest state: it tells the store how many rows are left.
    if (isKnown && !this.#isStopping) return;
    this.#announcedOldest = oldest;
    this.#send({ kind: 'outbox', outbox: this.outbox });
  }

  /** Gives the ledger the salt of the fleet. Called often, because the file may be replaced by one with another salt. */
  #adoptSalt(): void {
    if (this.#salt === undefined || this.#salt === this.#ledger.salt) return;
    // Leaves the ledger time to store the salt, and does not ask it too often: a ledger that cannot be written keeps its old salt.
    if (performance.now() - this.#adoptedAt < adoptionMs) return;
    this.#adoptedAt = performance.now();
    this.#ledger.adoptSalt(this.#salt);
  }

  #send(command: FleetCommand): void {
    this.#worker?.postMessage(command);
  }

  #startThread(): Worker | undefined {
    const workerData: FleetWorkerData = {
      settings: this.settings,
      ledger: this.#ledger.settings,
      salt: this.#ledger.salt,
    };
    const worker = startWorker(this.#workerFile, { workerData });
    if ('reason' in worker) {
      this.#onThreadEnd(` cannot be started: ${worker.reason}`);
      return undefined;
    }
    this.#worker = worker;
    worker.on('message', (message: FleetReport) => this.#onMessage(message));
    let reason = '';
    worker.on('error', (error) => {
      reason = `: ${messageOf(error)}`;
    });
    worker.on('exit', () => this.#onThreadEnd(` ended${reason}`));
    return worker;
  }

  #onMessage(message: FleetReport): void {
    if (message.kind === 'started') {
      this.#announcedOldest = undefined;
      this.#announceOldest();
      this.member.onThreadStarted();
    } else if (message.kind === 'store') this.#onStoreChange(message.problem);
    else if (message.kind === 'unusable') this.#onStoreChange(message.reason);
    else if (message.kind === 'sent') {
      this.#ledger.removeSent(message.epoch, message.seq);
      this.member.onSent(message);
      this.#refusalNotices.recovered('The shared store of the fleet accepts the counts of this gateway again.');
      if (message.outcome === 'gap') this.#notice(lostCounts);
    } else if (message.kind === 'refused') this.#refusalNotices.failed(refusedCounts(message.reason));
    else if (message.kind === 'queueAdded') this.#onQueueAdded(message.problem);
    else if (message.kind === 'maintained') this.#onMaintained(message.problem);
    else if (message.kind === 'salt') {
      this.#salt = message.salt;
      if (message.isReplaced) this.#notice(replacedSalt);
      this.#adoptSalt();
    } else this.member.onReport(message);
  }

  #onStoreChange(reason: string | undefined): void {
    this.#problem = reason;
    this.#onChange();
    if (reason === undefined) this.#outageNotices.recovered('The shared store of the fleet answers again.');
    else
      this.#outageNotices.failed(
        `The shared store of the fleet cannot be used: ${reason}.  Counts wait on disk until it can be.`,
      );
  }

  /** As `#onMaintained`. */
  #onQueueAdded(problem: string | undefined): void {
    if (problem === undefined)
      this.#addingNotices.recovered('Queued counts in the shared store of the fleet are added up again.');
    else if (this.isStoreUp) this.#addingNotices.failed(failedAdding(problem));
  }

  /** Reports no failure while the store cannot be reached, because `#onStoreChange` reports that. */
  #onMaintained(problem: string | undefined): void {
    if (problem === undefined) this.#maintenanceNotices.recovered('The shared store of the fleet is maintained again.');
    else if (this.isStoreUp) this.#maintenanceNotices.failed(failedMaintenance(problem));
  }

  #onThreadEnd(predicate: string): void {
    this.#worker = undefined;
    if (this.#isStopping) return;
    const problem = `the thread that talks to it${predicate}`;
    this.#onStoreChange(problem);
    this.member.onReport({ kind: 'heartbeatFailed', reason: problem });
    this.#restartTimer = setTimeout(() => this.#startThread()?.unref(), restartDelayMs).unref();
  }
}
