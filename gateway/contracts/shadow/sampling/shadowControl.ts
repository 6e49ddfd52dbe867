import type { Snapshot, Version } from '../../../config/snapshot.ts';
import { toPlain } from '../../../config/transfer.ts';
import type { Clock } from '../../../shared/clock.ts';
import { isoText } from '../../../shared/instant.ts';
import { threadFile } from '../../../shared/packageFiles.ts';
import { SupervisedThread } from '../../../shared/supervisedThread.ts';
import type { MetricValues } from '../../../usage/observability/exposition.ts';
import type { EvidenceRow } from '../../../usage/usageRow.ts';
import {
  type ComparisonKind,
  type ComparisonStop,
  comparisonKinds,
  comparisonNames,
  type DriftStatus,
  type ShadowStatus,
  StoppedComparisons,
  shadowMetrics,
} from './comparisonStatus.ts';
import { driftKey, shadowKey } from './copyPlan.ts';
import { SampledRequests } from './sampledRequests.ts';
import { type DriftSample, isToBeCopied, type ShadowBatch, type ShadowDrop, type ShadowSample } from './shadowBatch.ts';
import type { ShadowCommand, ShadowCounts, ShadowReport, ShadowStart } from './worker.ts';

// A thread that does not confirm a stop within this time is ended, which also ends its copies.
const confirmTimeoutMs = 500;
// Bodies that the thread has not taken yet.
const maxUntakenBytes = 32 * 1024 * 1024;

export interface ShadowControlOptions {
  readonly source: { readonly current: Snapshot };
  readonly clock: Clock;
  /** Takes a line for the operator. */
  readonly notice: (line: string) => void;
  /** Keeps the stops over restarts; undefined: they end with this process. */
  readonly file: string | undefined;
  /** Stores the evidence of the comparisons. */
  readonly save: (rows: readonly EvidenceRow[]) => void;
  /** Tells the processes that serve clients which comparisons are stopped. */
  readonly restrict: (stopped: ReadonlySet<string>) => Promise<void>;
}

/**
 * Controls all shadows and all comparisons with contracts. It passes the samples of all processes to one thread that sends the copies,
 * so that the limits apply to all processes together. Without `shadow` and `drift` in the configuration, it starts no thread.
 * Never throws.
 */
export class ShadowControl {
  /** The requests that were sampled since the settings last changed, for an export. */
  readonly requests = new SampledRequests();
  readonly #options: ShadowControlOptions;
  readonly #thread: SupervisedThread<ShadowCommand, ShadowReport>;
  /** The keys of each `shadow` and `drift` in the snapshot. */
  #keys: ReadonlySet<string> = new Set();
  readonly #stopped: StoppedComparisons;
  /** The versions whose shadow sends no copies for a while, because the other version fails. */
  #brokenVersions: readonly string[] = [];
  /** `v1 shadow compared` → the number of copies, or `v1 drift compared` → of comparisons, with this outcome. */
  readonly #outcomes = new Map<string, number>();
  /** `v1 late` → the number of samples of this version that were dropped for this reason. */
  readonly #dropped = new Map<string, number>();
  #untakenBytes = 0;

  constructor(options: ShadowControlOptions) {
    this.#options = options;
    this.#thread = new SupervisedThread<ShadowCommand, ShadowReport>({
      file: threadFile('contracts/shadow/sampling/worker'),
      task: 'sends copies',
      workerData: (): ShadowStart => this.#settings(),
      answerMs: confirmTimeoutMs,
      onReport: (report) => {
        if (report.kind === 'evidence') options.save(report.rows);
        else this.#addCounts(report);
      },
      onEnd: () => {
        this.#untakenBytes = 0;
      },
      notice: (line) => options.notice(`shadow: ${line}`),
    });
    this.#stopped = new StoppedComparisons(options.file, options.notice);
  }

  /** Applies the settings of the current snapshot. */
  configure(): void {
    const { current } = this.#options.source;
    const keys = comparisonKinds.flatMap((kind) =>
      current.sortedVersions.flatMap((version) => keyOf(kind, version) ?? []),
    );
    this.#keys = new Set(keys);
    this.#stopped.keepOnly(keys);
    this.requests.configure(current);
    this.#publishStops();
    if (this.#thread.isRunning) this.#thread.send({ kind: 'configure', ...this.#settings() });
    else if (keys.length > 0) this.#thread.start();
  }

  /** Takes the samples of one process. */
  take({ samples, dropped }: ShadowBatch): void {
    for (const [version, reason, count] of dropped) increaseCount(this.#dropped, `${version} ${reason}`, count);
    for (const sample of samples) this.#passToThread(sample);
  }

  /**
   * Stops the shadow of a version, or the comparison with its contract, until its settings change. When the promise resolves, nothing
   * is copied or compared any more.
   */
  async stop(kind: 'shadow', name: string): Promise<ComparisonStop<ShadowStatus>>;
  async stop(kind: 'drift', name: string): Promise<ComparisonStop<DriftStatus>>;
  async stop(kind: ComparisonKind, name: string): Promise<ComparisonStop<ShadowStatus | DriftStatus>> {
    const version = this.#options.source.current.versions.get(name);
    const key = version && keyOf(kind, version);
    const status = version && (kind === 'shadow' ? this.#statusOf(version) : this.#driftOf(version));
    const comparison = `${comparisonNames[kind]} of /${name}`;
    const nothingToStop = (reason: string) => ({ kind: 'nothing', reason: `${reason}.` }) as const;
    if (key === undefined || status === undefined) return nothingToStop(`/${name} has no ${comparisonNames[kind]}`);
    if (status.state === 'over') return nothingToStop(`The ${comparison} is over`);
    if (status.state === 'stopped') return nothingToStop(`The ${comparison} was stopped before`);
    this.#stopped.add(key);
    this.#publishStops();
    // A thread that does not confirm the stop has ended when the question is rejected.
    if (this.#thread.isRunning)
      await this.#thread.ask(() => ({ kind: 'stop', stopped: this.#stopped.keys })).catch(() => {});
    this.#options.notice(`the ${comparison} is stopped`);
    return { kind: 'stopped', status: { ...status, state: 'stopped' }, isStored: this.#stopped.save() };
  }

  status(): ShadowStatus[] {
    return this.#options.source.current.sortedVersions.flatMap((version) => this.#statusOf(version) ?? []);
  }

  drifts(): DriftStatus[] {
    return this.#options.source.current.sortedVersions.flatMap((version) => this.#driftOf(version) ?? []);
  }

  metrics(): MetricValues[] {
    return shadowMetrics(this.status());
  }

  async close(): Promise<void> {
    await this.#thread.close();
  }

  #statusOf(version: Version): ShadowStatus | undefined {
    const { name, shadow } = version;
    if (shadow === undefined) return undefined;
    const state = this.#stateOf(shadowKey(version), shadow);
    const copies: Record<string, Record<string, number>> = {};
    for (const [key, count] of this.#outcomes) {
      const [owner, kind = '', outcome = ''] = key.split(' ');
      if (owner === name && kind !== 'drift') copies[kind] = { ...copies[kind], [outcome]: count };
    }
    const dropped = [...this.#dropped].flatMap(([key, count]) => {
      const [owner, reason = ''] = key.split(' ');
      return owner === name ? [[reason, count] as const] : [];
    });
    return {
      version: name,
      to: shadow.to,
      state: state === 'running' && this.#brokenVersions.includes(name) ? 'broken' : state,
      until: isoText(shadow.until),
      copies,
      dropped: Object.fromEntries(dropped),
    };
  }

  #driftOf(version: Version): DriftStatus | undefined {
    const { name, drift } = version;
    if (drift === undefined) return undefined;
    const compared = this.#outcomes.get(`${name} drift compared`) ?? 0;
    return { version: name, state: this.#stateOf(driftKey(version), drift), until: isoText(drift.until), compared };
  }

  #stateOf(key: string, { until }: { readonly until: number }): DriftStatus['state'] {
    if (this.#stopped.has(key)) return 'stopped';
    return this.#options.clock.now() >= until ? 'over' : 'running';
  }

  #passToThread(sample: ShadowSample | DriftSample): void {
    if (!this.#keys.has(sample.key) || this.#stopped.has(sample.key)) {
      this.#drop(sample, 'changed');
      return;
    }
    if (isToBeCopied(sample)) this.requests.add(sample);
    if (!this.#thread.start() || this.#untakenBytes + sample.body.length > maxUntakenBytes) {
      this.#drop(sample, 'busy');
      return;
    }
    this.#untakenBytes += sample.body.length;
    // A copy, because a body that another process has sent shares its memory with the message.
    const body = Uint8Array.from(sample.body);
    this.#thread.send({ kind: 'sample', sample: { ...sample, body } }, [body.buffer]);
  }

  #drop(sample: ShadowSample | DriftSample, reason: ShadowDrop): void {
    // The status of a comparison with a contract does not list dropped samples.
    if (isToBeCopied(sample)) increaseCount(this.#dropped, `${sample.version} ${reason}`, 1);
  }

  #publishStops(): void {
    void this.#options.restrict(new Set(this.#stopped.keys)).catch(() => {});
  }

  #settings(): ShadowStart {
    return { snapshot: toPlain(this.#options.source.current), stopped: this.#stopped.keys };
  }

  #addCounts({ copies, dropped, broken, takenBytes }: ShadowCounts): void {
    this.#brokenVersions = broken;
    this.#untakenBytes -= takenBytes;
    for (const [version, kind, outcome, count] of copies)
      increaseCount(this.#outcomes, `${version} ${kind} ${outcome}`, count);
    for (const [version, reason, count] of dropped) increaseCount(this.#dropped, `${version} ${reason}`, count);
  }
}

/** The key of the shadow or of the comparison with the contract; undefined: the version has none. */
function keyOf(kind: ComparisonKind, version: Version): string | undefined {
  if (version[kind] === undefined) return undefined;
  return kind === 'shadow' ? shadowKey(version) : driftKey(version);
}

function increaseCount(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
