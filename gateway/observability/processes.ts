import { addedUp, type MetricValues } from './exposition.ts';
import type { WorkerReport } from './report.ts';

// Processes that are gone, each by itself: one that only missed a question is among them for a moment.
const mostGone = 32;

/**
 * What processes have counted that do not answer now, those that are gone included: a counter that falls would look to
 * Prometheus like a restart, and its rate would jump.
 */
export class Processes {
  readonly #known = new Map<string, readonly MetricValues[]>();
  #past: Promise<readonly MetricValues[]> = Promise.resolve([]);

  /** What they say of themselves. The last word of each counts, so it is noted as it arrives. */
  note(workers: readonly WorkerReport[]): void {
    for (const worker of workers) if (worker.metrics) this.#known.set(nameOf(worker), worker.metrics);
  }

  /** One part for each process that was noted and is not `present`, and one for those that are long gone. */
  async absent(present: readonly WorkerReport[]): Promise<readonly (readonly MetricValues[])[]> {
    const names = new Set(present.map(nameOf));
    const absent = [...this.#known].filter(([name]) => !names.has(name));
    const old = absent.splice(0, Math.max(0, absent.length - mostGone));
    if (old.length > 0) {
      // Before anything is awaited: of two questions at a time only one may add a process to the past.
      for (const [name] of old) this.#known.delete(name);
      const parts = old.map(([, metrics]) => counted(metrics));
      this.#past = this.#past.then((past) => addedUp([past, ...parts]));
    }
    const parts = absent.map(([, metrics]) => counted(metrics));
    return [...parts, await this.#past];
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
