import type { Snapshot } from '../../config/snapshot.ts';
import { RouteNames } from '../../usage/counting/routeNames.ts';
import type { ExchangeRecord, Recorder, SpanRecord } from '../../usage/observability/exchangeRecord.ts';
import { otherRoute } from '../../usage/usageRow.ts';
import { type OtlpSink, type SpanRow, spanCount } from './batch.ts';
import { DurationCounts } from './durations.ts';

/** Spans are passed on at this interval, or when at least `spansPerBatch` wait. */
const spanIntervalMs = 1_000;
const spansPerBatch = 256;
/** While the sink is busy, at most this many spans wait. Further spans are dropped. */
const maxWaiting = 2_048;
/** The longest text in a span. A client can send longer texts, and can have its requests sampled. */
const maxTextLength = 1_024;
/**
 * The longest `tracestate` that has to be passed on (W3C Trace Context §3.3.1.5). A longer one is left out, because a part of it
 * may be invalid.
 */
const maxTraceStateLength = 512;
/** Durations are passed on once in this many intervals, because a metric is usually exported once a minute. */
const intervalsPerDurations = 10;

interface VersionRoutes {
  readonly names: RouteNames;
  /**
   * Name in the ledger → route. Each route is built once: `DurationCounts` uses it as the key of a Map, and a Map has to hash
   * each newly built string.
   */
  readonly byName: Map<string, string | undefined>;
}

/**
 * Collects the spans and durations of one process for the exporter. Does not use an SDK, because creating a span with it costs
 * more than forwarding a request.
 */
export class OtlpRecorder implements Recorder {
  readonly #send: OtlpSink;
  readonly #timer: NodeJS.Timeout;
  #settings: Snapshot['telemetry'];
  #routePrefix = '';
  #maxRoutes = 0;
  #routes = new Map<string, VersionRoutes>();
  #spans: SpanRow[] = [];
  #waiting = 0;
  #dropped = 0;
  #durations = new DurationCounts();
  /** The number of intervals since durations were passed on. */
  #intervals = 0;
  #isBusy = false;

  constructor(send: OtlpSink) {
    this.#send = send;
    this.#timer = setInterval(() => this.#onTimer(), spanIntervalMs).unref();
  }

  /** Applies the settings of a snapshot. What was recorded before is passed on. */
  configure({ telemetry, gateway, usage }: Snapshot): void {
    this.flush();
    this.#settings = telemetry;
    if (this.#routePrefix === gateway.basePath && this.#maxRoutes === usage.maxRoutes) return;
    this.#routePrefix = gateway.basePath;
    this.#maxRoutes = usage.maxRoutes;
    this.#routes = new Map();
  }

  /** `client`: the client as in the usage ledger; undefined without a ledger. */
  record(exchange: ExchangeRecord, client?: string): void {
    const { span } = exchange;
    const countsDurations = this.#settings?.metrics === true;
    if (!countsDurations && !span) return;
    const route = this.#routeOf(exchange);
    if (countsDurations) this.#durations.add(exchange, route);
    if (span) this.#add({ ...rowOf(exchange), span: shortened(span), route, client });
  }

  /** Passes on everything, even if the sink is busy. */
  flush(): void {
    this.#intervals = 0;
    this.#passOn(this.#durations.take());
  }

  close(): void {
    clearInterval(this.#timer);
    this.flush();
  }

  #onTimer(): void {
    if (this.#isBusy) return;
    this.#intervals += 1;
    if (this.#intervals >= intervalsPerDurations) this.flush();
    else this.#passOn([]);
  }

  #add(row: SpanRow): void {
    const count = spanCount(row);
    if (this.#waiting + count > maxWaiting) {
      this.#dropped += count;
      return;
    }
    this.#spans.push(row);
    this.#waiting += count;
    if (this.#waiting >= spansPerBatch && !this.#isBusy) this.#passOn([]);
  }

  #passOn(durations: ReturnType<DurationCounts['take']>): void {
    const batch = { spans: this.#spans, durations, dropped: this.#dropped };
    if (batch.spans.length === 0 && durations.length === 0 && batch.dropped === 0) return;
    this.#spans = [];
    this.#waiting = 0;
    this.#dropped = 0;
    const sent = this.#send(batch);
    if (sent === undefined) return;
    this.#isBusy = true;
    void sent.finally(() => {
      this.#isBusy = false;
    });
  }

  /** The route as the usage ledger names it, with the base path and the version: `/api/v1/drinks/{id}`. */
  #routeOf({ version, method, resource, paths, status }: ExchangeRecord): string | undefined {
    if (version === '') return undefined;
    let routes = this.#routes.get(version);
    if (routes === undefined) {
      routes = { names: new RouteNames(this.#maxRoutes), byName: new Map([[otherRoute, undefined]]) };
      this.#routes.set(version, routes);
    }
    const { names, byName } = routes;
    const name = names.nameOf(method, resource, paths, status);
    const knownRoute = byName.get(name);
    if (knownRoute !== undefined || byName.has(name)) return knownRoute;
    const route = `${this.#routePrefix}/${version}${name.slice(name.indexOf(' ') + 1)}`;
    byName.set(name, route);
    return route;
  }
}

function rowOf(exchange: ExchangeRecord): Omit<SpanRow, 'span' | 'route' | 'client'> {
  const { traceId, at, duration, version, stage, method, path, query, status } = exchange;
  const { problem, fault, cause, address, scheme, rawHeaders } = exchange;
  const userAgentAt = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'user-agent');
  const userAgent = userAgentAt === -1 ? undefined : rawHeaders[userAgentAt + 1];
  return {
    ...{ traceId, at, duration, version, stage, method, status, problem, fault, address, scheme },
    path: path.slice(0, maxTextLength),
    // A long query is left out as a whole: a secret is recognized by the text around it, and a cut could remove that text.
    query: query.length > maxTextLength ? '' : query,
    cause: cause?.slice(0, maxTextLength),
    userAgent: userAgent?.slice(0, maxTextLength),
  };
}

function shortened(span: SpanRecord): SpanRecord {
  const { tracestate = '', host, targetPath } = span;
  return {
    ...span,
    tracestate: tracestate.length > maxTraceStateLength ? undefined : span.tracestate,
    host: host.slice(0, maxTextLength),
    targetPath: targetPath.length > maxTextLength ? withoutQuery(targetPath).slice(0, maxTextLength) : targetPath,
  };
}

function withoutQuery(path: string): string {
  return path.split('?', 1)[0] ?? '';
}
