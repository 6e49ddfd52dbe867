import type { ProblemCode } from '../../problems/catalogue.ts';
import type { Stage } from '../../versions/lifecycle/stage.ts';
import { lostStatuses } from '../evidence/lostShare.ts';
import type { ExchangeRecord, Recorder } from './exchangeRecord.ts';
import { type MetricSample, type MetricValues, metricOf, processMetrics } from './exposition.ts';
import type { MetricName } from './metricTable.ts';
import type { AnswerCounts, ServingReport } from './report.ts';

// Version names have a digit after the v, so no version has this name.
const unknownVersion = 'unknown';

/** Counts the exchanges of one process. */
export class Metrics implements Recorder {
  readonly #counts = new Map<string, VersionCounts>();
  /** Version → its requests at paths at which it was served before an edit. They count as requests without a known version, too. */
  readonly #atFormerPaths = new Map<string, number>();

  record(exchange: ExchangeRecord): void {
    this.#countsOf(exchange.version).add(exchange);
  }

  /** Counts a request that was answered 404, because its path named `version` only before an edit. */
  atFormerPath(version: string): void {
    this.#atFormerPaths.set(version, (this.#atFormerPaths.get(version) ?? 0) + 1);
  }

  /** The requests to each version, with those at its former paths. */
  answers(): Record<string, AnswerCounts> {
    const versions = new Set([...this.#counts.keys(), ...this.#atFormerPaths.keys()]);
    versions.delete(unknownVersion);
    return Object.fromEntries(
      [...versions].map((version) => {
        const { requests, lost } = this.#counts.get(version)?.answers() ?? { requests: 0, lost: {} };
        const atFormerPaths = this.#atFormerPaths.get(version) ?? 0;
        if (atFormerPaths === 0) return [version, { requests, lost }];
        return [
          version,
          { requests: requests + atFormerPaths, lost: { ...lost, 404: (lost[404] ?? 0) + atFormerPaths } },
        ];
      }),
    );
  }

  tunnelOpened(version: string): void {
    this.#countsOf(version).openUpgrades += 1;
  }

  /** All metrics of this process as plain data, memory and event loop included. */
  async json(): Promise<readonly MetricValues[]> {
    return [...this.#exchangeMetrics(), ...(await processMetrics())];
  }

  #exchangeMetrics(): MetricValues[] {
    const rows = [...this.#counts].map(([version, counts]) => ({ version, counts }));
    const perVersion = (name: MetricName, value: (counts: VersionCounts) => number): MetricValues =>
      metricOf(
        name,
        rows.map(({ version, counts }) => ({ labels: { version }, value: value(counts) })),
      );
    const histogram = (name: MetricName, of: (counts: VersionCounts) => DurationHistogram): MetricValues =>
      metricOf(
        name,
        rows.flatMap(({ version, counts }) => of(counts).samples(name, { version })),
      );
    return [
      metricOf(
        'version_gateway_requests_total',
        rows.flatMap(({ version, counts }) => counts.requests(version)),
      ),
      histogram('version_gateway_request_duration_seconds', ({ duration }) => duration),
      histogram('version_gateway_upstream_duration_seconds', ({ upstream }) => upstream),
      perVersion('version_gateway_request_bytes_total', ({ bytesIn }) => bytesIn),
      perVersion('version_gateway_response_bytes_total', ({ bytesOut }) => bytesOut),
      perVersion('version_gateway_retries_total', ({ retries }) => retries),
      metricOf(
        'version_gateway_failures_total',
        rows.flatMap(({ version, counts }) => labelled(version, 'fault', Object.entries(counts.failures))),
      ),
      metricOf(
        'version_gateway_problems_total',
        rows.flatMap(({ version, counts }) => labelled(version, 'code', counts.problems)),
      ),
      metricOf(
        'version_gateway_restricted_total',
        rows.flatMap(({ version, counts }) => labelled(version, 'kind', counts.restricted)),
      ),
      metricOf(
        'version_gateway_adapter_failures_total',
        rows.flatMap(({ version, counts }) => labelled(version, 'route', counts.adapterFailures)),
      ),
      perVersion('version_gateway_upgrades_open', ({ openUpgrades }) => openUpgrades),
    ];
  }

  #countsOf(version: string): VersionCounts {
    const name = version === '' ? unknownVersion : version;
    let counts = this.#counts.get(name);
    if (counts === undefined) {
      counts = new VersionCounts();
      this.#counts.set(name, counts);
    }
    return counts;
  }
}

function labelled(version: string, label: string, values: Iterable<readonly [string, number]>): MetricSample[] {
  return [...values].map(([text, value]) => ({ labels: { version, [label]: text }, value }));
}

/** The ejections of each target, as a counter of this process. */
export function ejectionsIn({ versions }: ServingReport): MetricValues[] {
  const samples = versions.flatMap(({ name, targets }) =>
    targets.map(({ url, ejections = 0 }) => ({ labels: { version: name, target: url }, value: ejections })),
  );
  return [metricOf('version_gateway_target_ejections_total', samples)];
}

const stages: readonly (Stage | 'unknown')[] = ['active', 'announced', 'deprecated', 'sunset', 'retired', 'unknown'];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'];
const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'];

const stageIndex = new Map(stages.map((stage, at) => [stage, at]));
const otherMethodIndex = methods.indexOf('other');
const methodIndex = new Map(methods.map((method, at) => [method, at]));

/** The counts of one version. A request costs a few additions; labels are made when the metrics are read. */
class VersionCounts {
  readonly duration = new DurationHistogram();
  readonly upstream = new DurationHistogram();
  readonly failures = { client: 0, gateway: 0, target: 0 };
  readonly problems = new Map<string, number>();
  readonly restricted = new Map<string, number>();
  /** Route of the adapter → number of failures. A client cannot invent such a route. */
  readonly adapterFailures = new Map<string, number>();
  /** Status of the answer → number of lost requests. */
  readonly #lost = new Map<number, number>();
  bytesIn = 0;
  bytesOut = 0;
  retries = 0;
  openUpgrades = 0;
  // One table by stage, method and class, so that no key has to be built for each request.
  readonly #requests = new Float64Array(stages.length * methods.length * classes.length);

  add(exchange: ExchangeRecord): void {
    const { status, upstreamMs, fault, problem, restrictedBy, streamed } = exchange;
    const at = tableIndex(exchange);
    this.#requests[at] = (this.#requests[at] as number) + 1;
    if (status >= 400 && isLost(exchange)) this.#lost.set(status, (this.#lost.get(status) ?? 0) + 1);
    // The duration of a tunnel or event stream says nothing about the latency of requests.
    if (status === 101) this.openUpgrades -= 1;
    else if (!streamed) this.duration.add(exchange.duration);
    if (upstreamMs !== undefined) this.upstream.add(upstreamMs);
    this.bytesIn += exchange.bytesIn;
    this.bytesOut += exchange.bytesOut;
    this.retries += exchange.retries;
    if (fault !== undefined) this.failures[fault] += 1;
    if (problem !== undefined) this.problems.set(problem, (this.problems.get(problem) ?? 0) + 1);
    if (restrictedBy !== undefined) this.restricted.set(restrictedBy, (this.restricted.get(restrictedBy) ?? 0) + 1);
    if (problem === 'ADAPTER_FAILED') {
      const { adaptedRoute: route = '' } = exchange;
      this.adapterFailures.set(route, (this.adapterFailures.get(route) ?? 0) + 1);
    }
  }

  answers(): AnswerCounts & { readonly lost: Readonly<Record<number, number>> } {
    const refused = refusedOnPurpose.reduce((sum, code) => sum + (this.problems.get(code) ?? 0), 0);
    const requests = this.#requests.reduce((sum, count) => sum + count, 0) - refused;
    return { requests, lost: Object.fromEntries(this.#lost) };
  }

  /** The number of requests by stage, method and class, without zeros. */
  requests(version: string): MetricSample[] {
    const samples: MetricSample[] = [];
    for (const [at, value] of this.#requests.entries()) {
      if (value === 0) continue;
      const row = Math.floor(at / classes.length);
      const labels = {
        version,
        stage: stages[Math.floor(row / methods.length)] ?? '',
        method: methods[row % methods.length] ?? '',
        class: classes[at % classes.length] ?? '',
      };
      samples.push({ labels, value });
    }
    return samples;
  }
}

/** The problems with which the gateway refuses requests because an operator wants it. */
const refusedOnPurpose: readonly ProblemCode[] = [
  'VERSION_RETIRED',
  'VERSION_FROZEN',
  'VERSION_BROWNOUT',
  'ROUTE_NOT_ADAPTED',
];

/**
 * The problems with which the gateway itself refuses what a client has sent. Settings have a part in it, such as a timeout, a limit or an
 * adapter, so an edit may be the cause. The same statuses of a backend follow from what clients send.
 */
const refusedBySettings: readonly ProblemCode[] = [
  'BAD_REQUEST',
  'REQUEST_TIMED_OUT',
  'BODY_TOO_LARGE',
  'TARGET_TOO_LONG',
  'HEAD_TOO_LARGE',
];

function isLost({ status, problem }: Pick<ExchangeRecord, 'status' | 'problem'>): boolean {
  if (problem === undefined) return lostStatuses.has(status);
  if (refusedOnPurpose.includes(problem)) return false;
  return lostStatuses.has(status) || refusedBySettings.includes(problem);
}

function tableIndex({ stage, method, status }: ExchangeRecord): number {
  const stageAt = stageIndex.get(stage ?? 'unknown') as number;
  const methodAt = methodIndex.get(method) ?? otherMethodIndex;
  const classAt = Math.min(classes.length, Math.max(1, Math.floor(status / 100))) - 1;
  return (stageAt * methods.length + methodAt) * classes.length + classAt;
}

// Seconds, from a cached answer on the same machine to beyond a timeout of 30 s.
const bucketBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

class DurationHistogram {
  readonly #counts = new Float64Array(bucketBounds.length + 1);
  #sum = 0;

  add(ms: number): void {
    const seconds = ms / 1000;
    let at = 0;
    while (at < bucketBounds.length && seconds > (bucketBounds[at] as number)) at += 1;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#sum += seconds;
  }

  /** Buckets are cumulative, as Prometheus expects. */
  samples(name: MetricName, labels: MetricSample['labels']): MetricSample[] {
    let total = 0;
    const buckets = [...this.#counts].map((count, at) => {
      total += count;
      return { labels: { ...labels, le: bucketBounds[at] ?? '+Inf' }, value: total, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels, value: this.#sum, metricName: `${name}_sum` },
      { labels, value: total, metricName: `${name}_count` },
    ];
  }
}
