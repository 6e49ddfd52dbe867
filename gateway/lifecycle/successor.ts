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

/** From one version to another, successor by successor. */
export interface Way {
  readonly end: Version;
  /** Only the steps at which a path may change or end; majors that change nothing cost nothing. */
  readonly hop: Hop | undefined;
}

interface Hop {
  readonly from: Version;
  readonly to: Version;
  readonly next: Hop | undefined;
}

/** The way from `version` as far as it goes, `last` at most. `ways` has that of its successor. */
export function wayTo(
  last: Version | undefined,
  version: Version,
  successor: Version | undefined,
  ways: ReadonlyMap<Version, Way>,
): Way {
  const onwards = successor && ways.get(successor);
  if (version === last || successor === undefined || onwards === undefined) return { end: version, hop: undefined };
  const matters = version.moved.size > 0 || (version.contract !== undefined && successor.contract !== undefined);
  return { end: onwards.end, hop: matters ? { from: version, to: successor, next: onwards.hop } : onwards.hop };
}

/** Where `path` is at the end of the way; undefined as soon as a step has no counterpart. */
export function follow({ hop }: Way, path: string): string | undefined {
  let target: string | undefined = path;
  for (let at = hop; at && target !== undefined; at = at.next) target = counterpart(target, at.from, at.to);
  return target;
}
