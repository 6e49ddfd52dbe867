import { aggregated, type MetricValues } from '../../usage/observability/exposition.ts';
import { mergeReports, type ServingReport, type WorkerReport } from '../../usage/observability/report.ts';

// A process that has not answered has ended, or answers later and then replaces its metrics. So the last metrics of this many such
// processes are kept separately. The metrics of older ones are merged.
const maxSeparateProcesses = 32;

/**
 * The totals of all workers since the start, including those that ended. A counter that falls would look to Prometheus like
 * a restart, and its rate would jump.
 */
export class WorkerTotals {
  /** The last metrics of each process, by the key that `keyOf` makes. */
  readonly #lastMetrics = new Map<string, readonly MetricValues[]>();
  /** The sum of the metrics of absent processes that are no longer kept separately. */
  #mergedMetrics: Promise<readonly MetricValues[]> = Promise.resolve([]);
  // The part of all reports so far that stays valid, such as when each version last had a request in flight.
  #past: ServingReport = { versions: [], workers: [] };

  /** Takes the final report of a worker that is about to end. */
  addFinal(report: ServingReport): void {
    this.#keepMetrics(report);
    this.#past = withoutCurrentState(mergeReports([report, this.#past]));
  }

  /** The merged report of all workers. `metrics`: with the metrics of all workers since the start. */
  async merge(reports: readonly Promise<ServingReport | undefined>[], metrics: boolean): Promise<ServingReport> {
    const answers = await Promise.all(
      reports.map(async (pending) => {
        const report = await pending;
        // The metrics are kept before the other reports arrive: later, they could replace those of the final report, which are newer.
        if (report) this.#keepMetrics(report);
        return report ? [report] : [];
      }),
    );
    const sum = mergeReports([...answers.flat(), this.#past]);
    this.#past = withoutCurrentState(sum);
    if (!metrics) return sum;
    // The report of a worker that does not answer has no metrics, so its last known metrics are added.
    return {
      ...sum,
      metricsOfAbsentProcesses: await this.#absentMetrics(sum.workers.filter((worker) => worker.metrics)),
    };
  }

  #keepMetrics({ workers }: ServingReport): void {
    for (const worker of workers) if (worker.metrics) this.#lastMetrics.set(keyOf(worker), worker.metrics);
  }

  /** The last metrics of each process that is not `present`, and the sum of those that ended long ago. */
  async #absentMetrics(present: readonly WorkerReport[]): Promise<readonly (readonly MetricValues[])[]> {
    const keys = new Set(present.map(keyOf));
    const absent = [...this.#lastMetrics].filter(([key]) => !keys.has(key));
    const oldestAbsent = absent.splice(0, Math.max(0, absent.length - maxSeparateProcesses));
    if (oldestAbsent.length > 0) {
      // Deleted before the first await, so that only one of two concurrent calls merges a process.
      for (const [key] of oldestAbsent) this.#lastMetrics.delete(key);
      const metricsToMerge = oldestAbsent.map(([, metrics]) => cumulative(metrics));
      this.#mergedMetrics = this.#mergedMetrics.then((merged) => aggregated([merged, ...metricsToMerge]));
    }
    const separateMetrics = absent.map(([, metrics]) => cumulative(metrics));
    return [...separateMetrics, await this.#mergedMetrics];
  }
}

/** The start time is included, because pids are reused. */
function keyOf({ pid, since }: WorkerReport): string {
  return `${pid} ${since}`;
}

/** The metrics that stay valid after a process has ended. */
function cumulative(metrics: readonly MetricValues[]): MetricValues[] {
  return metrics.filter(({ type }) => type === 'counter' || type === 'histogram');
}

/** The part of a report that remains valid after its processes have ended. */
function withoutCurrentState({ versions }: ServingReport): ServingReport {
  const noCurrentState = { inFlight: 0, waiting: 0, targets: [], adapterFailures: undefined, notAdapted: undefined };
  return { versions: versions.map((one) => ({ ...one, ...noCurrentState })), workers: [] };
}
