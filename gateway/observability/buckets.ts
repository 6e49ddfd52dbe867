import { type MetricValues, metricOf, type Sample } from './exposition.ts';
import type { MetricName } from './metricTable.ts';

// Seconds. From what a cached answer takes on one machine to what a time-out of 30 s leaves room for.
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Durations, counted by bound. */
export class Buckets {
  readonly #counts = new Float64Array(bounds.length + 1);
  #sum = 0;

  /** `ms` becomes seconds. */
  add(ms: number): void {
    const seconds = ms / 1000;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] as number)) at += 1;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#sum += seconds;
  }

  /** Each bucket holds those below it, too, as Prometheus has it. */
  samples(name: MetricName, labels: Sample['labels']): Sample[] {
    let below = 0;
    const buckets = [...this.#counts].map((count, at) => {
      below += count;
      return { labels: { ...labels, le: bounds[at] ?? '+Inf' }, value: below, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels, value: this.#sum, metricName: `${name}_sum` },
      { labels, value: below, metricName: `${name}_count` },
    ];
  }
}

/** A histogram of several `Buckets`, each with its labels. */
export function histogramOf(
  name: MetricName,
  rows: readonly (readonly [labels: Sample['labels'], buckets: Buckets])[],
): MetricValues {
  return metricOf(
    name,
    rows.flatMap(([labels, buckets]) => buckets.samples(name, labels)),
  );
}
