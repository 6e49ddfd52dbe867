import type { Clock } from '../../shared/clock.ts';
import { unreachableVersions } from '../../versions/lifecycle/unreachableVersions.ts';
import type { Serving } from './serving.ts';

const unreachableCheckMs = 1000;
const shareIntervalMs = 1000;

interface MonitoredProcess {
  readonly serving: Serving;
  readonly clock: Clock;
  readonly notice: (line: string) => void;
}

/**
 * Reports when no target of a version can be reached, and when a target can be reached again. Returns a function that stops the
 * reports.
 */
export function reportUnreachableVersions({ serving, clock, notice }: MonitoredProcess): () => void {
  /** The unreachable versions by name, each with whether it was stopped before it was retired. */
  let lastUnreachable = new Map<string, boolean>();
  const check = async (): Promise<void> => {
    const found = unreachableVersions(serving.current, await serving.report(), clock.now());
    const unreachable = new Map(found.map((one) => [one.version, one.wasStoppedBeforeRetired]));
    for (const [name, wasStopped] of unreachable) {
      if (lastUnreachable.get(name) === wasStopped) continue;
      const what = `no target of /${name} can be reached`;
      notice(wasStopped ? `/${name} was stopped before it was retired: ${what}` : what);
    }
    for (const name of lastUnreachable.keys())
      if (!unreachable.has(name)) notice(`/${name} can be reached again, or is no longer served`);
    lastUnreachable = unreachable;
  };
  // In one process, a report flushes what was counted, which may fail. That must not end the gateway.
  const timer = setInterval(() => void check().catch(() => {}), unreachableCheckMs).unref();
  return () => clearInterval(timer);
}

/**
 * Tells every worker which routes the others have found missing, once a second. A single process knows that itself. Returns a
 * function that stops it.
 */
export function shareRouteAnswers({ serving }: Pick<MonitoredProcess, 'serving'>): () => void {
  let shared = '';
  const share = async (): Promise<void> => {
    const { routeAnswers, workers } = await serving.report();
    const text = JSON.stringify(routeAnswers);
    if (routeAnswers === undefined || workers.length < 2 || text === shared) return;
    shared = text;
    await serving.restrict({ routeAnswers });
  };
  const timer = setInterval(() => void share().catch(() => {}), shareIntervalMs).unref();
  return () => clearInterval(timer);
}
