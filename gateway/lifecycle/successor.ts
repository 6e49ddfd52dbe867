import type { Snapshot, Version } from '../config/snapshot.ts';
import { fill } from '../shared/pathTable.ts';
import { stageOf } from './stage.ts';

/** The version that `version` sends its clients to: the one its file names, else the next higher major that is not retired. */
export function successorOf(version: Version, snapshot: Snapshot, now: number): Version | undefined {
  if (version.successor !== undefined) return snapshot.versions.get(version.successor);
  return snapshot.byMajor.find((other) => other.major > version.major && stageOf(other, now) !== 'retired');
}

/** The highest major that is not retired. */
export function latestOf(snapshot: Snapshot, now: number): Version | undefined {
  return snapshot.byMajor.findLast((version) => stageOf(version, now) !== 'retired');
}

/**
 * The same resource one major further on: through `moved`, else under the same path.
 * `path` has no version and no query: `/drinks/7`. Undefined where there is no counterpart:
 * a `moved` row of null, or a successor whose contract is known not to have it.
 */
export function counterpart(path: string, version: Version, successor: Version): string | undefined {
  const row = version.moved.find(path);
  if (row?.value === null) return undefined;
  const target = row ? fill(row.value, row) : path;
  if (target === undefined) return undefined;
  const bothKnown = version.contract !== undefined && successor.contract !== undefined;
  if (bothKnown && successor.contract.paths.find(target) === undefined) return undefined;
  return target;
}

/** `counterpart`, major by major, up to `last`; undefined as soon as a step has none. */
export function counterpartAt(
  last: Version,
  path: string,
  version: Version,
  snapshot: Snapshot,
  now: number,
): string | undefined {
  let at = version;
  let target: string | undefined = path;
  // Each step goes to another version, and a snapshot has no cycle of successors, so this ends.
  while (at !== last) {
    const next = successorOf(at, snapshot, now);
    if (next === undefined || target === undefined) return undefined;
    target = counterpart(target, at, next);
    at = next;
  }
  return target;
}
