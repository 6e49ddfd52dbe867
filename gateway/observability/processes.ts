import { addedUp, type MetricValues } from './exposition.ts';
import type { WorkerReport } from './report.ts';

// Processes that are gone, each by itself: one that only missed a question is among them for a moment.
const mostGone = 32;

/**
 * What all processes have counted since the start, those that are gone included: a counter that falls would look to
 * Prometheus like a restart, and its rate would jump.
 */
export class Processes {
  readonly #known = new Map<string, readonly MetricValues[]>();
  #past: readonly MetricValues[] = [];

  /** One part for each process that ever was, and one for those that are long gone. */
  async parts(present: readonly WorkerReport[]): Promise<readonly (readonly MetricValues[])[]> {
    const names = new Set(present.map(nameOf));
    for (const worker of present) if (worker.metrics) this.#known.set(nameOf(worker), worker.metrics);
    const gone = [...this.#known].filter(([name]) => !names.has(name));
    for (const [name, metrics] of gone.slice(0, Math.max(0, gone.length - mostGone))) {
      this.#past = await addedUp([this.#past, counted(metrics)]);
      this.#known.delete(name);
    }
    const parts = [...this.#known].map(([name, metrics]) => (names.has(name) ? metrics : counted(metrics)));
    return [...parts, this.#past];
  }
}

/** A process is told from another with its number by its start. */
function nameOf({ pid, since }: WorkerReport): string {
  return `${pid} ${since}`;
}

/** What stays true of a process that has ended. */
function counted(metrics: readonly MetricValues[]): MetricValues[] {
  return metrics.filter(({ type }) => type === 'counter' || type === 'histogram');
}
