import { setImmediate } from 'node:timers/promises';
import type { Snapshot } from '../config/snapshot.ts';
import { AccessLog } from '../observability/accessLog.ts';
import { Batches } from '../observability/batches.ts';
import type { ExchangeRecord, Recorder } from '../observability/exchangeRecord.ts';
import { type MetricValues, metricOf } from '../observability/exposition.ts';
import { Metrics } from '../observability/metrics.ts';
import type { InFlight, VersionUse } from '../pipeline/inFlight.ts';
import type { Clock } from '../shared/clock.ts';
import { Collector } from '../usage/counting/collector.ts';
import { UnlistedVersions } from '../usage/counting/unlistedVersions.ts';
import type { ServeOptions } from './serving.ts';

// What a crash may lose of the counts.
const flushMs = 5000;
// Open requests counted in one turn of the event loop: about a millisecond.
const sliceSize = 500;
// More are handed on at once: to copy a message of so many rows takes a few milliseconds.
const rowsAtATime = 2_000;

/** What one process tells of its exchanges: counts for the metrics and the ledger, and lines for the log. */
export class Telemetry {
  readonly recorder: Recorder;
  readonly #metrics = new Metrics();
  readonly #log: AccessLog | undefined;
  readonly #collector: Collector | undefined;
  readonly #unlisted = new UnlistedVersions();
  readonly #batches = new Batches((facts) => this.#record(facts));
  #basePath: string;
  readonly #clock: Clock;
  readonly #uses: ReadonlyMap<string, VersionUse>;
  readonly #usage: ServeOptions['usage'];
  readonly #timer: NodeJS.Timeout | undefined;
  #settings: Snapshot['usage'];
  /** What the collector identifies by. */
  #identifiesBy: string;

  /** `uses`: by version, what is under way. */
  constructor(
    { usage: settings, log, gateway }: Snapshot,
    { clock, notice, usage, logs }: ServeOptions,
    uses: ReadonlyMap<string, VersionUse> = new Map(),
  ) {
    this.#clock = clock;
    this.#uses = uses;
    this.#usage = usage;
    this.#settings = settings;
    this.#identifiesBy = this.#wanted();
    this.#log = logs ? new AccessLog(log, notice) : undefined;
    this.#collector = usage && new Collector(settings, usage.salt);
    this.#basePath = gateway.basePath;
    if (usage) this.#timer = setInterval(() => void this.flush(), flushMs).unref();
    this.recorder = {
      record: (facts) => this.#batches.record(facts),
      switched: (version) => this.#metrics.switched(version),
    };
  }

  /** All that this process has counted. */
  async metrics(): Promise<readonly MetricValues[]> {
    this.#batches.handOn();
    const one = (value: number) => [{ labels: {}, value }];
    return [
      ...(await this.#metrics.json()),
      metricOf('version_gateway_usage_folded_requests_total', one(this.#collector?.folded ?? 0)),
      metricOf('version_gateway_access_log_dropped_lines_total', one(this.#log?.dropped ?? 0)),
    ];
  }

  async apply(next: Snapshot): Promise<void> {
    await this.flush();
    this.#settings = next.usage;
    this.#basePath = next.gateway.basePath;
    this.#configure();
    await this.#log?.apply(next.log);
  }

  /** Hands on what was counted. What is open is counted a slice at a time: there may be thousands of streams. */
  async flush(): Promise<void> {
    let left = sliceSize;
    for (const { inFlight } of this.#uses.values()) {
      for (const one of inFlight) {
        this.#countOpen(one);
        left -= 1;
        if (left > 0) continue;
        left = sliceSize;
        this.#handOverWhenMany();
        await setImmediate();
      }
    }
    this.#batches.handOn();
    this.#handOver();
  }

  /** The salt of the sink is another one now. */
  async resalt(): Promise<void> {
    await this.flush();
    this.#configure();
  }

  /** For who has renamed the log. */
  async reopen(): Promise<void> {
    this.#batches.handOn();
    await this.#log?.reopen();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
    await this.#log?.close();
  }

  #record(facts: ExchangeRecord): void {
    this.#metrics.record(facts);
    // Nothing but the version was wrong with it.
    const isStray = facts.problem === 'UNKNOWN_VERSION';
    const unlisted = isStray ? this.#unlisted.find(facts.path, this.#basePath, facts.at) : undefined;
    const client = facts.counted
      ? this.#collector?.finish(facts.counted, facts)
      : this.#collector?.count(unlisted ? { ...facts, ...unlisted, unlisted: true } : facts);
    this.#log?.record(facts, client);
    this.#handOverWhenMany();
  }

  /** To configure the collector is to forget whom it knows: only where that is needed. */
  #configure(): void {
    const wanted = this.#wanted();
    if (this.#usage && wanted !== this.#identifiesBy) this.#collector?.configure(this.#settings, this.#usage.salt);
    this.#identifiesBy = wanted;
  }

  #wanted(): string {
    return JSON.stringify([this.#settings, this.#usage?.salt]);
  }

  #handOverWhenMany(): void {
    if (this.#collector && this.#collector.size >= rowsAtATime) this.#handOver();
  }

  #handOver(): void {
    const batch = this.#collector?.take() ?? [];
    if (batch.length > 0) this.#usage?.take(batch);
  }

  /**
   * Counts a request before its end, and notes that it goes on: the client of an open stream is calling now, and a crash
   * must not lose it. A request that ends between two flushes is counted at its end alone.
   */
  #countOpen(one: InFlight): void {
    if (!this.#collector) return;
    one.counted ??= this.#collector.open(one.soFar());
    this.#collector.refresh(one.counted, this.#clock.now(), one.status);
  }
}
