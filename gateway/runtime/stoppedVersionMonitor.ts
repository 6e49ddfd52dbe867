import type { Snapshot } from '../config/snapshot.ts';
import { unreachableVersions } from '../lifecycle/unreachableVersions.ts';
import type { Clock } from '../shared/clock.ts';
import type { Serving } from './serving.ts';

const everyMs = 1000;

/** Reports once when no target of a version can be reached, and once when that is over. Returns a function that stops it. */
export function watchForStops(
  live: { readonly current: Snapshot },
  serving: Serving,
  clock: Clock,
  notice: (line: string) => void,
): () => void {
  let known = new Map<string, boolean>();
  const look = async (): Promise<void> => {
    const found = unreachableVersions(live.current, await serving.report(), clock.now());
    const now = new Map(found.map((one) => [one.version, one.stoppedBeforeRetired]));
    for (const [name, stopped] of now) {
      if (known.get(name) === stopped) continue;
      const what = `no target of /${name} can be reached`;
      notice(stopped ? `/${name} was stopped before it was retired: ${what}` : what);
    }
    for (const name of known.keys())
      if (!now.has(name)) notice(`/${name} can be reached again, or is no longer served`);
    known = now;
  };
  // A gateway that is about to end has nothing to report any more.
  const timer = setInterval(() => void look().catch(() => {}), everyMs).unref();
  return () => clearInterval(timer);
}
