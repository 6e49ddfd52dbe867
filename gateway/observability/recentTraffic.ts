import type { MetricValues, Sample } from './exposition.ts';
import type { ServingReport } from './report.ts';

/** How a version was used over a span of time, all processes together. */
export interface VersionTraffic {
  /** The segment, `v1`; `unknown` for requests that named no version. */
  readonly version: string;
  readonly requestsPerSecond: number;
  /** Responses with a status of 500 or more, as a share of all, 0 to 1; undefined: there were no requests. */
  readonly errorShare: number | undefined;
  /** Estimates from the histogram, ms, the highest bound (60 s) at most; undefined: no request was timed. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

export interface RecentTraffic {
  readonly spanMs: number;
  readonly versions: readonly VersionTraffic[];
}

/** What was counted until `at`, in ms of a monotonic clock. */
interface Totals {
  readonly at: number;
  readonly versions: ReadonlyMap<string, Counts>;
}

interface Counts {
  readonly requests: number;
  readonly errors: number;
  /** By upper bound in seconds, each with those below it. */
  readonly buckets: ReadonlyMap<number, number>;
}

const windowMs = 60_000;
/** A shorter span says little: the one before it is used until the window has this length. */
const shortestMs = 10_000;
const intervalMs = 5_000;

/**
 * Rates and latencies of the last minute, from the counters of all processes. It takes no samples by itself: whoever
 * asks for a status brings them. Where nobody asked for a while, the span begins at the last sample, or at the start.
 */
export class TrafficSamples {
  readonly #now: () => number;
  readonly #taken: Totals[];

  /** `now`: a monotonic clock in ms. */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#taken = [{ at: now(), versions: new Map() }];
  }

  /** Whether the next report should have its metrics for `add`. */
  get isDue(): boolean {
    const last = this.#taken.at(-1);
    return last === undefined || this.#taken.length === 1 || this.#now() - last.at >= intervalMs;
  }

  add({ workers, absent = [] }: ServingReport): void {
    const parts = [...workers.map(({ metrics }) => metrics ?? []), ...absent];
    const next: Totals = { at: this.#now(), versions: countsOf(parts) };
    // Fewer than before: a process was not heard this time. Rates begin anew with what is known.
    if (isLess(next, this.#taken.at(-1))) this.#taken.length = 0;
    this.#taken.push(next);
    const firstRecent = this.#taken.findIndex(({ at }) => next.at - at <= windowMs);
    // One older sample is kept, for as long as the recent ones span too little.
    const keepOlder = next.at - (this.#taken[firstRecent]?.at ?? next.at) < shortestMs ? 1 : 0;
    this.#taken.splice(0, Math.max(0, firstRecent - keepOlder));
  }

  /** Undefined until there are two samples. */
  get recent(): RecentTraffic | undefined {
    const [first, last] = [this.#taken[0], this.#taken.at(-1)];
    if (!first || !last || last.at <= first.at) return undefined;
    const spanMs = last.at - first.at;
    const versions = [...last.versions].map(([version, counts]) =>
      trafficOf(version, counts, first.versions.get(version), spanMs),
    );
    return { spanMs, versions };
  }
}

function countsOf(parts: readonly (readonly MetricValues[])[]): Map<string, Counts> {
  const found = new Map<string, { requests: number; errors: number; buckets: Map<number, number> }>();
  const of = (version: string) => {
    const known = found.get(version) ?? { requests: 0, errors: 0, buckets: new Map<number, number>() };
    found.set(version, known);
    return known;
  };
  const samplesOf = (name: string): Sample[] =>
    parts.flatMap((part) => part.filter((metric) => metric.name === name).flatMap(({ values }) => values));
  for (const { labels, value } of samplesOf('version_gateway_requests_total')) {
    const counts = of(String(labels['version']));
    counts.requests += value;
    if (labels['class'] === '5xx') counts.errors += value;
  }
  for (const { labels, value, metricName } of samplesOf('version_gateway_request_duration_seconds')) {
    if (!metricName?.endsWith('_bucket')) continue;
    const { buckets } = of(String(labels['version']));
    const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
    buckets.set(bound, (buckets.get(bound) ?? 0) + value);
  }
  return found;
}

function isLess(next: Totals, last: Totals | undefined): boolean {
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

/** As histogram_quantile() of Prometheus: requests are taken to be spread evenly within their bucket. In ms. */
function quantile(share: number, buckets: readonly { bound: number; count: number }[]): number | undefined {
  const all = buckets.at(-1)?.count ?? 0;
  if (all <= 0) return undefined;
  const rank = share * all;
  const at = buckets.findIndex(({ count }) => count >= rank);
  const { bound, count } = buckets[at] as { bound: number; count: number };
  const below = buckets[at - 1] ?? { bound: 0, count: 0 };
  if (!Number.isFinite(bound)) return below.bound * 1000;
  return (below.bound + (bound - below.bound) * ((rank - below.count) / (count - below.count))) * 1000;
}
