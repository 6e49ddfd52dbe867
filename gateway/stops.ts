import type { Snapshot } from './config/snapshot.ts';
import { stoppedBeforeRetired } from './lifecycle/stopped.ts';
import type { Serving } from './serving/serving.ts';
import type { Clock } from './shared/clock.ts';

const everyMs = 1000;

/** Tells the operator, once each time, of versions that were stopped before they were retired; until the returned function is called. */
export function watchForStops(
  live: { readonly current: Snapshot },
  serving: Serving,
  clock: Clock,
  notice: (line: string) => void,
): () => void {
  const stopped = new Set<string>();
  const look = async (): Promise<void> => {
    const { versions } = await serving.report();
    for (const { name, targets } of versions) {
      const version = live.current.versions.get(name);
      const is = version !== undefined && stoppedBeforeRetired(version, targets, clock.now());
      if (is && !stopped.has(name))
        notice(`/${name} was stopped before it was retired: no target of it can be reached`);
      if (!is && stopped.has(name)) notice(`/${name} can be reached again, or is no longer served`);
      if (is) stopped.add(name);
      else stopped.delete(name);
    }
  };
  // A gateway that is about to end has nothing to report any more.
  const timer = setInterval(() => void look().catch(() => {}), everyMs).unref();
  return () => clearInterval(timer);
}
