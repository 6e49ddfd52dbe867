import { setImmediate } from 'node:timers/promises';
import { segmentsOfIds } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { OtlpRecorder } from '../../operate/otlp/recorder.ts';
import type { VersionCallMarks } from '../../proxy/pipeline/callMarks.ts';
import type { InFlight, VersionRequests } from '../../proxy/pipeline/inFlight.ts';
import type { Clock } from '../../shared/clock.ts';
import { CallTimes } from '../../usage/counting/callTimes.ts';
import { Collector } from '../../usage/counting/collector.ts';
import type { ClientIdentification } from '../../usage/counting/identification.ts';
import type { RouteAnswers } from '../../usage/counting/routeAnswers.ts';
import { currentPathOf, unlistedVersionIn } from '../../usage/counting/routeNames.ts';
import type { CountedMark } from '../../usage/ledger/callMarks.ts';
import { AccessLog } from '../../usage/observability/accessLog.ts';
import { type ExchangeRecord, RecordBatches, type Recorder } from '../../usage/observability/exchangeRecord.ts';
import { type MetricValues, unlabelled } from '../../usage/observability/exposition.ts';
import { Metrics } from '../../usage/observability/metrics.ts';
import type { AnswerCounts } from '../../usage/observability/report.ts';
import type { ServeOptions } from './serving.ts';

// A crash loses at most the usage counts of this time.
const flushIntervalMs = 5000;
// How many open requests are counted in one turn of the event loop. Counting these takes about a millisecond.
const requestsPerSlice = 500;
// When there are this many rows, they are passed on at once. Copying a message of this many rows takes a few milliseconds.
const maxUnsentRows = 2_000;

/** Holds the current snapshot, and the identification of clients by its settings. */
export interface TelemetrySource {
  readonly current: Snapshot;
  readonly identification: ClientIdentification;
  readonly routeAnswers?: RouteAnswers;
  readonly formerPaths?: ReadonlyMap<string, string>;
}

interface ProcessRecords {
  /** Contains the open requests. */
  readonly requestsByVersion?: ReadonlyMap<string, VersionRequests>;
  /** Called for each record. */
  readonly onRecord?: (exchange: ExchangeRecord) => void;
  readonly callMarks?: Pick<VersionCallMarks, 'beginCount' | 'close'> | undefined;
  /** No record is of a request that ended before this, epoch ms. */
  readonly since?: number;
}

/** Records the exchanges of one process: metrics, usage counts for the ledger, and the access log. */
export class Telemetry {
  readonly recorder: Recorder;
  readonly #source: TelemetrySource;
  readonly #metrics = new Metrics();
  readonly #log: AccessLog | undefined;
  readonly #collector: Collector | undefined;
  readonly #batches = new RecordBatches((exchange) => this.#record(exchange));
  readonly #clock: Clock;
  readonly #requestsByVersion: ReadonlyMap<string, VersionRequests>;
  readonly #onRecord: (exchange: ExchangeRecord) => void;
  readonly #callMarks: Pick<VersionCallMarks, 'beginCount' | 'close'> | undefined;
  /** The last mark up to which the calls are passed on. */
  #countedUntil = 0;
  readonly #usageSink: ServeOptions['usage'];
  readonly #sendOtlp: ServeOptions['otlp'];
  /** Undefined until `telemetry` is first set. */
  #otlp: OtlpRecorder | undefined;
  /** All calls that ended before this time were passed on, epoch ms. */
  #passedOnUntil: number;
  readonly #timer: NodeJS.Timeout | undefined;
  // The APIs of the exchanges that are not recorded yet. A reload changes them after the earlier exchanges are recorded.
  #host: Pick<Snapshot, 'gateway' | 'apis'>;
  #segmentsOfIds: number;
  /** Undefined: a change of the clock is not detected. */
  readonly #callTimes: CallTimes | undefined;
  /** The settings that the collector uses, as text to compare. */
  #collectorKey: string;
  /** How the collector identifies clients. */
  #identification: ClientIdentification;

  constructor(
    source: TelemetrySource,
    { clock, notice, usage, otlp, logs }: ServeOptions,
    { requestsByVersion = new Map(), onRecord = () => {}, callMarks, since = clock.now() }: ProcessRecords = {},
  ) {
    const { usage: usageSettings, log } = source.current;
    this.#source = source;
    this.#clock = clock;
    this.#callTimes = clock.monotonic && new CallTimes(clock);
    this.#passedOnUntil = since;
    this.#requestsByVersion = requestsByVersion;
    this.#onRecord = onRecord;
    this.#callMarks = callMarks;
    this.#host = source.current;
    this.#segmentsOfIds = segmentsOfIds(source.current);
    this.#usageSink = usage;
    this.#sendOtlp = otlp;
    this.#collectorKey = JSON.stringify(usageSettings);
    this.#identification = source.identification;
    this.#log = logs ? new AccessLog(log, notice) : undefined;
    this.#collector = usage && new Collector(usageSettings, this.#identification, source.routeAnswers);
    if (usage) this.#timer = setInterval(() => void this.flush(), flushIntervalMs).unref();
    this.recorder = {
      record: (exchange) => this.#batches.record(exchange),
      tunnelOpened: (version) => this.#metrics.tunnelOpened(version),
    };
  }

  /** All metrics of this process. */
  async metrics(): Promise<readonly MetricValues[]> {
    this.#batches.flush();
    return [
      ...(await this.#metrics.json()),
      unlabelled('version_gateway_usage_folded_requests_total', this.#collector?.folded ?? 0),
      unlabelled('version_gateway_access_log_dropped_lines_total', this.#log?.dropped ?? 0),
    ];
  }

  /** The requests to each version that have ended in this process. */
  answers(): Readonly<Record<string, AnswerCounts>> {
    this.#batches.flush();
    return this.#metrics.answers();
  }

  /** Version → epoch ms, for each version with calls that were not passed on yet. None of these calls ended before this time. */
  unsentSince(): Readonly<Record<string, number>> {
    this.#batches.flush();
    return Object.fromEntries([...(this.#collector?.versions ?? [])].map((version) => [version, this.#passedOnUntil]));
  }

  /** Applies the settings of the current snapshot. */
  async applyCurrent(): Promise<void> {
    await this.flush();
    this.#host = this.#source.current;
    this.#segmentsOfIds = segmentsOfIds(this.#host);
    this.#configureCollector();
    await this.#log?.apply(this.#source.current.log);
    await this.#configureOtlp();
  }

  /** Passes on all counts. Open requests are counted in slices, because there may be thousands of streams. */
  async flush(): Promise<void> {
    const counted = this.#callMarks?.beginCount();
    let leftInSlice = requestsPerSlice;
    for (const { inFlight } of this.#requestsByVersion.values()) {
      for (const request of inFlight) {
        this.#countOpen(request);
        leftInSlice -= 1;
        if (leftInSlice > 0) continue;
        leftInSlice = requestsPerSlice;
        this.#batches.flush();
        this.#passOnIfMany(this.#clock.now());
        await setImmediate();
      }
    }
    this.#batches.flush();
    this.#otlp?.flush();
    this.#passOn(this.#clock.now(), counted);
  }

  /** Called when the source identifies clients with another salt. */
  async resalt(): Promise<void> {
    await this.flush();
    this.#configureCollector();
  }

  /** Opens the log file again, after it was renamed. */
  async reopenLogs(): Promise<void> {
    this.#batches.flush();
    await this.#log?.reopen();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
    this.#callMarks?.close();
    this.#otlp?.close();
    await this.#log?.close();
  }

  #record(exchange: ExchangeRecord): void {
    this.#metrics.record(exchange);
    this.#onRecord(exchange);
    // The path may name a version that routes.yaml does not list.
    const hasUnknownVersion = exchange.problem === 'UNKNOWN_VERSION';
    if (hasUnknownVersion) this.#noteFormerPath(exchange.path);
    const unlisted = hasUnknownVersion ? unlistedVersionIn(exchange.path, this.#host, this.#segmentsOfIds) : undefined;
    if (exchange.counted) this.#callTimes?.noteEnd(exchange.endedAt);
    else this.#callTimes?.note(exchange);
    const client = exchange.counted
      ? this.#collector?.finish(exchange.counted, exchange)
      : this.#collector?.count(unlisted ? { ...exchange, ...unlisted, unlisted: true } : exchange);
    if (!this.#collector) this.#noteAnswer(exchange);
    this.#log?.record(exchange, client);
    this.#otlp?.record(exchange, client);
    // The present time would be too late: later exchanges of this batch have also ended, and are not counted yet.
    this.#passOnIfMany(exchange.endedAt);
  }

  #noteFormerPath(path: string): void {
    for (const [formerPath, version] of this.#source.formerPaths ?? []) {
      const isBelow =
        path.startsWith(formerPath) && (path.length === formerPath.length || path[formerPath.length] === '/');
      if (isBelow) this.#metrics.atFormerPath(version);
    }
  }

  /** Without a ledger. The collector does the same, and knows the name of the route already. */
  #noteAnswer({ version, method, resource, paths, served, status, at }: ExchangeRecord): void {
    const { routeAnswers } = this.#source;
    if (!served || !routeAnswers?.isOfInterest(status)) return;
    routeAnswers.note(version, `${method} ${currentPathOf(resource, paths)}`, resource, status, at);
  }

  /** Does nothing if no setting has changed, because `Collector.configure` clears the tracked clients. */
  #configureCollector(): void {
    const { current, identification } = this.#source;
    const key = JSON.stringify(current.usage);
    if (key === this.#collectorKey && identification === this.#identification) return;
    this.#collectorKey = key;
    this.#identification = identification;
    this.#collector?.configure(current.usage, identification);
  }

  /** The module is loaded only if the configuration has `telemetry`. */
  async #configureOtlp(): Promise<void> {
    const { current } = this.#source;
    if (this.#sendOtlp && current.telemetry)
      this.#otlp ??= new (await import('../../operate/otlp/recorder.ts')).OtlpRecorder(this.#sendOtlp);
    this.#otlp?.configure(current);
  }

  #passOnIfMany(until: number): void {
    if (this.#collector && this.#collector.size >= maxUnsentRows) this.#passOn(until);
  }

  /** `until`: all calls that ended before this time are counted, epoch ms. `counted`: all calls up to a mark are counted. */
  #passOn(until: number, counted?: CountedMark): void {
    const batch = this.#collector?.take() ?? [];
    const isNewlyCounted = counted !== undefined && counted.until > this.#countedUntil;
    const since = this.#passedOnUntil;
    const hasWrongTimes = this.#callTimes?.take(since) ?? false;
    if (batch.length > 0 || isNewlyCounted)
      this.#usageSink?.receive({ batch, salt: this.#identification.salt, since, counted, hasWrongTimes });
    if (isNewlyCounted) this.#countedUntil = counted.until;
    this.#passedOnUntil = until;
  }

  /**
   * Counts a long request before its end, and records that it is still open. The client is active now, and a crash must not lose
   * this fact. A request that starts and ends between two flushes is counted only at its end.
   */
  #countOpen(request: InFlight): void {
    if (!this.#collector) return;
    request.counted ??= this.#collector.open(request.countedSoFar());
    const { counted, status } = request;
    const isNewlyServed = !counted.served && status > 0 && request.countedSoFar().served;
    this.#collector.refresh(counted, this.#clock.now(), status, isNewlyServed);
  }
}
