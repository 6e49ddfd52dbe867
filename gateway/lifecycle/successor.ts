import type { Promised } from '../config/accepted.ts';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { transfer } from '../shared/template.ts';
import { stageOf } from './stage.ts';

interface Lineage<Kind extends Promised> {
  readonly versions: ReadonlyMap<string, Kind>;
  readonly byMajor: readonly Kind[];
}

/** The version after `version`, live or not: the one its file names, else the next higher major. */
export function nextOf<Kind extends Promised>(version: Kind, snapshot: Lineage<Kind>): Kind | undefined {
  if (version.successor !== undefined) return snapshot.versions.get(version.successor);
  return snapshot.byMajor[snapshot.byMajor.indexOf(version) + 1];
}

/** The version that `version` sends its clients to: the next one that is not retired. */
export function successorOf<Kind extends Promised>(
  version: Kind,
  snapshot: Lineage<Kind>,
  now: number,
): Kind | undefined {
  let next = nextOf(version, snapshot);
  // A snapshot has no cycle of successors, so this ends.
  while (next && stageOf(next, now) === 'retired') next = nextOf(next, snapshot);
  return next;
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
export function counterpart(path: string, version: Version, next: Version): string | undefined {
  const row = version.moved.find(path);
  if (row?.value === null) return undefined;
  const target = row ? transfer(path, row.template, row.value) : path;
  if (target === undefined) return undefined;
  const bothKnown = version.contract !== undefined && next.contract !== undefined;
  if (bothKnown && next.contract.paths.find(target) === undefined) return undefined;
  return target;
}
