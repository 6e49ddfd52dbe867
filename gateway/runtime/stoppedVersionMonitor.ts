import { unreachableVersions } from '../lifecycle/unreachableVersions.ts';
import type { Clock } from '../shared/clock.ts';
import type { Serving } from './serving.ts';

const checkMs = 1000;

/** Reports once when no target of a version can be reached, and once when one can be again. Returns a function that stops it. */
export function monitorStoppedVersions(serving: Serving, clock: Clock, notice: (line: string) => void): () => void {
  let known = new Map<string, boolean>();
  const check = async (): Promise<void> => {
    const found = unreachableVersions(serving.current, await serving.report(), clock.now());
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
  // A report fails only while the gateway is stopping.
  const timer = setInterval(() => void check().catch(() => {}), checkMs).unref();
  return () => clearInterval(timer);
}
