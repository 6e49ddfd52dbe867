import type { MetricSample, MetricValues } from './exposition.ts';
import type { ServingReport } from './report.ts';

/** Traffic of a version over a period, in all processes. */
export interface VersionTraffic {
  /** The path segment, `v1`; `unknown` for requests without a known version. */
  readonly version: string;
  readonly requestsPerSecond: number;
  /** Share of responses with a status of 500 or more, 0 to 1; undefined without requests. */
  readonly errorShare: number | undefined;
  /** Estimated from the histogram, in ms, at most its highest bound (60 s); undefined without durations. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

export interface RecentTraffic {
  readonly spanMs: number;
  readonly versions: readonly VersionTraffic[];
}

/** Counters as of `at`, in ms of a monotonic clock. */
interface Totals {
  readonly at: number;
  readonly versions: ReadonlyMap<string, Counts>;
}

/** The requests to a version since the start of the gateway, in all processes. */
export interface RequestCounts {
  readonly requests: number;
  /** Responses with a status of 500 or more. */
  readonly errors: number;
}

interface Counts extends RequestCounts {
  /** Cumulative, by upper bound in seconds. */
  readonly buckets: ReadonlyMap<number, number>;
}

const windowMs = 60_000;
/** Rates over a shorter window are too noisy. Until the recent samples cover this time, an older sample is kept. */
const minWindowMs = 10_000;
const sampleIntervalMs = 5_000;

/**
 * Rates and latencies of the last minute, from the counters of all processes. It takes no samples by itself: each status
 * request adds one. After a pause, the span starts at the last sample, or at the start of the gateway.
 */
export class TrafficSamples {
  readonly #now: () => number;
  readonly #samples: Totals[];

  /** `now`: a monotonic clock in ms. */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#samples = [{ at: now(), versions: new Map() }];
  }

  /** Whether the next report should contain metrics, to be passed to `add`. */
  get isDue(): boolean {
    const last = this.#samples.at(-1);
    return last === undefined || this.#samples.length === 1 || this.#now() - last.at >= sampleIntervalMs;
  }

  add({ workers, metricsOfAbsentProcesses = [] }: ServingReport): void {
    const parts = [...workers.map(({ metrics }) => metrics ?? []), ...metricsOfAbsentProcesses];
    const next: Totals = { at: this.#now(), versions: countsOf(parts) };
    // The totals are lower if a process did not answer this time. Start again from the current totals.
    if (hasDecreased(next, this.#samples.at(-1))) this.#samples.length = 0;
    this.#samples.push(next);
    const firstRecent = this.#samples.findIndex(({ at }) => next.at - at <= windowMs);
    const olderKept = next.at - (this.#samples[firstRecent]?.at ?? next.at) < minWindowMs ? 1 : 0;
    this.#samples.splice(0, Math.max(0, firstRecent - olderKept));
  }

  /** Undefined until there are two samples. */
  get recent(): RecentTraffic | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || last.at <= first.at) return undefined;
    const spanMs = last.at - first.at;
    const versions = [...last.versions].map(([version, counts]) =>
      trafficOf(version, counts, first.versions.get(version), spanMs),
    );
    return { spanMs, versions };
  }
}

/** The requests to one version since the start of the gateway. The report must contain metrics. */
export function requestsIn({ workers, metricsOfAbsentProcesses = [] }: ServingReport, version: string): RequestCounts {
  const counts = countsOf([...workers.map(({ metrics }) => metrics ?? []), ...metricsOfAbsentProcesses]).get(version);
  return { requests: counts?.requests ?? 0, errors: counts?.errors ?? 0 };
}

function countsOf(parts: readonly (readonly MetricValues[])[]): Map<string, Counts> {
  const countsByVersion = new Map<string, { requests: number; errors: number; buckets: Map<number, number> }>();
  const countsFor = (version: string) => {
    const counts = countsByVersion.get(version) ?? { requests: 0, errors: 0, buckets: new Map<number, number>() };
    countsByVersion.set(version, counts);
    return counts;
  };
  const samplesOf = (name: string): MetricSample[] =>
    parts.flatMap((part) => part.filter((metric) => metric.name === name).flatMap(({ values }) => values));
  for (const { labels, value } of samplesOf('version_gateway_requests_total')) {
    const counts = countsFor(String(labels['version']));
    counts.requests += value;
    if (labels['class'] === '5xx') counts.errors += value;
  }
  for (const { labels, value, metricName } of samplesOf('version_gateway_request_duration_seconds')) {
    if (!metricName?.endsWith('_bucket')) continue;
    const { buckets } = countsFor(String(labels['version']));
    const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
    buckets.set(bound, (buckets.get(bound) ?? 0) + value);
  }
  return countsByVersion;
}

/** Whether the requests of any version are fewer than in the last sample. */
function hasDecreased(next: Totals, last: Totals | undefined): boolean {
  return [...(last?.versions ?? [])].some(([version, { requests }]) => {
    return (next.versions.get(version)?.requests ?? 0) < requests;
  });
}

function trafficOf(version: string, now: Counts, before: Counts | undefined, spanMs: number): VersionTraffic {
  const requests = now.requests - (before?.requests ?? 0);
  const errors = now.errors - (before?.errors ?? 0);
  const buckets = [...now.buckets]
    .map(([bound, count]) => ({ bound, count: count - (before?.buckets.get(bound) ?? 0) }))
    .sort((a, b) => a.bound - b.bound);
  return {
    version,
    requestsPerSecond: requests / (spanMs / 1000),
    errorShare: requests === 0 ? undefined : errors / requests,
    p50: quantile(0.5, buckets),
    p99: quantile(0.99, buckets),
  };
}

/** Like histogram_quantile() of Prometheus: assumes an even distribution within each bucket. In ms. */
function quantile(share: number, buckets: readonly { bound: number; count: number }[]): number | undefined {
  const total = buckets.at(-1)?.count ?? 0;
  if (total <= 0) return undefined;
  const rank = share * total;
  const at = buckets.findIndex(({ count }) => count >= rank);
  const { bound, count } = buckets[at] as { bound: number; count: number };
  const below = buckets[at - 1] ?? { bound: 0, count: 0 };
  if (!Number.isFinite(bound)) return below.bound * 1000;
  return (below.bound + (bound - below.bound) * ((rank - below.count) / (count - below.count))) * 1000;
}
