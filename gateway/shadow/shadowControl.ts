import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { toPlain } from '../config/transfer.ts';
import { type MetricValues, metricOf } from '../observability/exposition.ts';
import type { Clock } from '../shared/clock.ts';
import { rfc3339 } from '../shared/httpDate.ts';
import { threadFile } from '../shared/packageFiles.ts';
import { OutageNotices } from '../usage/ledger/outage.ts';
import type { EvidenceRow } from '../usage/usageRow.ts';
import { driftKey, shadowKey } from './copyPlan.ts';
import { type DriftSample, isToBeCopied, type ShadowBatch, type ShadowDrop, type ShadowSample } from './shadowBatch.ts';
import type { ShadowCommand, ShadowCounts, ShadowReport } from './worker.ts';

// A thread that does not confirm a stop within this time is ended, and its copies with it.
const confirmMs = 500;
// Bodies that the thread has not taken yet.
const mostUntakenBytes = 32 * 1024 * 1024;

export interface ShadowControlOptions {
  readonly source: { readonly current: Snapshot };
  readonly clock: Clock;
  /** Takes a line for the operator. */
  readonly notice: (line: string) => void;
  /** Remembers what was stopped; undefined: nothing is remembered over restarts. */
  readonly file: string | undefined;
  /** Stores what comparisons have found. */
  readonly save: (rows: readonly EvidenceRow[]) => void;
  /** Tells the processes that serve clients what is stopped. */
  readonly restrict: (stopped: ReadonlySet<string>) => Promise<void>;
}

/** The shadow of a version, for operators. */
export interface ShadowStatus {
  readonly version: string;
  readonly to: string;
  /** `broken`: its target fails, so no copies are sent for a while. `over`: `until` has passed. */
  readonly state: 'running' | 'broken' | 'stopped' | 'over';
  /** RFC 3339 */
  readonly until: string;
  /** By kind (`shadow`, `control`) and outcome, since the start. */
  readonly copies: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Samples by the reason why they were not sent or compared, since the start. */
  readonly dropped: Readonly<Record<string, number>>;
}

/** `isStored`: false if the stop ends with this process. */
export type ShadowStop =
  | { readonly kind: 'stopped'; readonly shadow: ShadowStatus; readonly isStored: boolean }
  | { readonly kind: 'nothing'; readonly reason: string };

/**
 * The operating side of all shadows. It passes samples to a thread that sends the copies, so that all processes together keep
 * the limits. Without a shadow in the configuration, it starts no thread. Never throws.
 */
export class ShadowControl {
  readonly #options: ShadowControlOptions;
  readonly #threadNotices: OutageNotices;
  #thread: Worker | undefined;
  #snapshot: Snapshot | undefined;
  readonly #stopped: Set<string>;
  #broken: readonly string[] = [];
  /** By version, kind and outcome. */
  readonly #copies = new Map<string, number>();
  /** By version and reason. */
  readonly #dropped = new Map<string, number>();
  #untakenBytes = 0;
  #lastNumber = 0;
  readonly #unconfirmed = new Map<number, () => void>();
  #isClosed = false;

  constructor(options: ShadowControlOptions) {
    this.#options = options;
    this.#threadNotices = new OutageNotices((line) => options.notice(`shadow: ${line}`));
    this.#stopped = readStopped(options.file);
  }

  /** Applies the settings of the current snapshot. */
  configure(): void {
    const { current } = this.#options.source;
    this.#snapshot = current;
    const keys = new Set(current.byMajor.filter(({ shadow }) => shadow).map(shadowKey));
    const forgotten = [...this.#stopped].filter((key) => !keys.has(key));
    for (const key of forgotten) this.#stopped.delete(key);
    if (forgotten.length > 0) this.#save();
    this.#publish();
    if (this.#thread !== undefined) this.#configureThread(current);
    else if (keys.size > 0 || current.byMajor.some(({ drift }) => drift)) this.#start();
  }

  /** Takes the samples of one process. */
  take({ samples, dropped }: ShadowBatch): void {
    for (const [version, reason, count] of dropped) add(this.#dropped, `${version} ${reason}`, count);
    for (const sample of samples) this.#pass(sample);
  }

  /** Stops the shadow of a version until its settings change. When it resolves, no copy is sent any more. */
  async stop(name: string): Promise<ShadowStop> {
    const version = this.#options.source.current.versions.get(name);
    const shadow = version && this.#statusOf(version);
    if (version === undefined || shadow === undefined) return { kind: 'nothing', reason: `/${name} has no shadow.` };
    if (shadow.state === 'over') return { kind: 'nothing', reason: `The shadow of /${name} is over.` };
    if (shadow.state === 'stopped') return { kind: 'nothing', reason: `The shadow of /${name} was stopped before.` };
    this.#stopped.add(shadowKey(version));
    this.#publish();
    await this.#confirmStop();
    this.#options.notice(`the shadow of /${name} is stopped`);
    return { kind: 'stopped', shadow: { ...shadow, state: 'stopped' }, isStored: this.#save() };
  }

  status(): ShadowStatus[] {
    return this.#options.source.current.byMajor.flatMap((version) => this.#statusOf(version) ?? []);
  }

  metrics(): MetricValues[] {
    return shadowMetrics(this.status());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.terminate();
  }

  #statusOf(version: Version): ShadowStatus | undefined {
    const { name, shadow } = version;
    if (shadow === undefined) return undefined;
    const isOver = this.#options.clock.now() >= shadow.until;
    const isStopped = this.#stopped.has(shadowKey(version));
    const copies: Record<string, Record<string, number>> = {};
    for (const [key, count] of this.#copies) {
      const [of, kind = '', outcome = ''] = key.split(' ');
      if (of === name) copies[kind] = { ...copies[kind], [outcome]: count };
    }
    const dropped = [...this.#dropped].flatMap(([key, count]) => {
      const [of, reason = ''] = key.split(' ');
      return of === name ? [[reason, count] as const] : [];
    });
    return {
      version: name,
      to: shadow.to,
      state: isStopped ? 'stopped' : isOver ? 'over' : this.#broken.includes(name) ? 'broken' : 'running',
      until: rfc3339(shadow.until),
      copies,
      dropped: Object.fromEntries(dropped),
    };
  }

  #pass(sample: ShadowSample | DriftSample): void {
    const version = this.#snapshot?.versions.get(sample.version);
    const isCurrent = isToBeCopied(sample)
      ? version?.shadow !== undefined && shadowKey(version) === sample.key
      : version?.drift !== undefined && driftKey(version) === sample.key;
    if (!isCurrent || this.#stopped.has(sample.key) || this.#isClosed) {
      this.#drop(sample, 'changed');
      return;
    }
    if (this.#thread === undefined) this.#start();
    if (this.#untakenBytes + sample.body.length > mostUntakenBytes) {
      this.#drop(sample, 'busy');
      return;
    }
    this.#untakenBytes += sample.body.length;
    // A copy, because a body that another process has sent shares its memory with the message.
    const body = Uint8Array.from(sample.body);
    this.#post({ kind: 'sample', sample: { ...sample, body } }, [body.buffer]);
  }

  #drop(sample: ShadowSample | DriftSample, reason: ShadowDrop): void {
    if (isToBeCopied(sample)) add(this.#dropped, `${sample.version} ${reason}`, 1);
  }

  #publish(): void {
    void this.#options.restrict(new Set(this.#stopped)).catch(() => {});
  }

  async #confirmStop(): Promise<void> {
    const thread = this.#thread;
    if (thread === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const number = this.#configureThread(undefined);
    this.#unconfirmed.set(number, resolve);
    const timer = setTimeout(() => void thread.terminate().then(() => resolve()), confirmMs);
    await promise;
    clearTimeout(timer);
    this.#unconfirmed.delete(number);
  }

  /** @returns the number of the command */
  #configureThread(snapshot: Snapshot | undefined): number {
    this.#lastNumber += 1;
    const stopped = [...this.#stopped];
    const plain = snapshot && toPlain(snapshot);
    this.#post({ kind: 'configure', number: this.#lastNumber, snapshot: plain, stopped });
    return this.#lastNumber;
  }

  #start(): void {
    if (this.#isClosed) return;
    const thread = new Worker(threadFile('shadow/worker'));
    thread.unref();
    this.#thread = thread;
    this.#untakenBytes = 0;
    let reason = '';
    thread.on('message', (report: ShadowReport) => {
      if (thread === this.#thread) this.#onReport(report);
    });
    thread.on('error', (error) => {
      reason = `: ${error instanceof Error ? error.message : error}`;
    });
    thread.on('exit', () => {
      if (this.#thread === thread) this.#thread = undefined;
      for (const resolve of this.#unconfirmed.values()) resolve();
      if (!this.#isClosed)
        this.#threadNotices.failed(`the thread that sends copies ended${reason}.  The next sample starts a new one.`);
    });
    this.#configureThread(this.#snapshot);
  }

  #onReport(report: ShadowReport): void {
    if (report.kind === 'configured') {
      this.#unconfirmed.get(report.number)?.();
      return;
    }
    if (report.kind === 'evidence') {
      this.#options.save(report.rows);
      return;
    }
    this.#threadNotices.recovered('copies are sent again.');
    this.#addCounts(report);
  }

  #addCounts({ copies, dropped, broken, takenBytes }: ShadowCounts): void {
    this.#broken = broken;
    this.#untakenBytes -= takenBytes;
    for (const [version, kind, outcome, count] of copies) add(this.#copies, `${version} ${kind} ${outcome}`, count);
    for (const [version, reason, count] of dropped) add(this.#dropped, `${version} ${reason}`, count);
  }

  #post(command: ShadowCommand, transfer: ArrayBuffer[] = []): void {
    this.#thread?.postMessage(command, transfer);
  }

  /** @returns whether the stops survive a restart */
  #save(): boolean {
    const { file, notice } = this.#options;
    if (file === undefined) return false;
    // Written as a whole, so that a crash leaves the former file.
    const temporary = `${file}.${randomUUID()}.tmp`;
    try {
      writeFileSync(temporary, JSON.stringify({ stopped: [...this.#stopped] }), { mode: 0o600, flag: 'wx' });
      renameSync(temporary, file);
      return true;
    } catch (error) {
      rmSync(temporary, { force: true });
      notice(`${file} cannot be written: ${(error as Error).message}.  Stopped shadows start again at the next start.`);
      return false;
    }
  }
}

export function shadowMetrics(shadows: readonly ShadowStatus[]): MetricValues[] {
  const running = shadows.map(({ version, state }) => ({ labels: { version }, value: state === 'running' ? 1 : 0 }));
  const copies = shadows.flatMap(({ version, copies }) =>
    Object.entries(copies).flatMap(([kind, outcomes]) =>
      Object.entries(outcomes).map(([outcome, value]) => ({ labels: { version, kind, outcome }, value })),
    ),
  );
  const dropped = shadows.flatMap(({ version, dropped }) =>
    Object.entries(dropped).map(([reason, value]) => ({ labels: { version, reason }, value })),
  );
  return [
    metricOf('version_gateway_shadow_running', running),
    metricOf('version_gateway_shadow_copies_total', copies),
    metricOf('version_gateway_shadow_dropped_total', dropped),
  ];
}

function add(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

function readStopped(file: string | undefined): Set<string> {
  if (file === undefined) return new Set();
  try {
    const { stopped } = JSON.parse(readFileSync(file, 'utf8')) as { stopped?: unknown };
    return new Set(Array.isArray(stopped) ? stopped.filter((key) => typeof key === 'string') : []);
  } catch {
    // Nothing was stopped, or the file is not ours.
    return new Set();
  }
}
