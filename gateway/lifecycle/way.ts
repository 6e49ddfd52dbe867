import type { Version } from '../config/snapshot.ts';
import { counterpart } from './successor.ts';

/** From one version to another, major by major, retired ones included: their renamings still hold. */
export interface Way {
  readonly end: Version;
  /** Only the steps at which a path may change or end; majors that change nothing cost nothing. */
  readonly hops: readonly Hop[];
}

interface Hop {
  readonly from: Version;
  readonly to: Version;
}

/** One step, and on from there. */
export function via(from: Version, to: Version, onwards: Way): Way {
  const matters = from.moved.size > 0 || (from.contract !== undefined && to.contract !== undefined);
  return { end: onwards.end, hops: matters ? [{ from, to }, ...onwards.hops] : onwards.hops };
}

/** One way, then the other. */
export function joined(first: Way, second: Way): Way {
  return { end: second.end, hops: [...first.hops, ...second.hops] };
}

/** Where `path` is at the end of the way; undefined as soon as a step has no counterpart. */
export function follow({ hops }: Way, path: string): string | undefined {
  let target: string | undefined = path;
  for (const { from, to } of hops) {
    target = counterpart(target, from, to);
    if (target === undefined) return undefined;
  }
  return target;
}
