import type { AcceptedVersion } from '../config/acceptedConfig.ts';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { translatePath } from '../shared/pathTemplate.ts';
import { stageOf } from './stage.ts';

interface Lineage<Kind extends AcceptedVersion> {
  readonly versions: ReadonlyMap<string, Kind>;
  readonly byMajor: readonly Kind[];
}

/** The version after `version`, retired or not: its configured `successor`, else the next higher major. */
export function nextVersion<Kind extends AcceptedVersion>(version: Kind, snapshot: Lineage<Kind>): Kind | undefined {
  if (version.successor !== undefined) return snapshot.versions.get(version.successor);
  return snapshot.byMajor[snapshot.byMajor.indexOf(version) + 1];
}

/** The version that clients of `version` should move to: the next one that is not retired. */
export function successorOf<Kind extends AcceptedVersion>(
  version: Kind,
  snapshot: Lineage<Kind>,
  now: number,
): Kind | undefined {
  let next = nextVersion(version, snapshot);
  // A snapshot has no cycle of successors, so this ends.
  while (next && stageOf(next, now) === 'retired') next = nextVersion(next, snapshot);
  return next;
}

/** The highest major that is not retired. */
export function latestVersion(snapshot: Snapshot, now: number): Version | undefined {
  return snapshot.byMajor.findLast((version) => stageOf(version, now) !== 'retired');
}

/**
 * The path of the same resource in the next major: by `moved`, else the same path. `path` has no version and no query:
 * `/drinks/7`. Undefined if there is none: `moved` maps it to null, or the contract of the next major does not have it.
 */
export function counterpart(path: string, version: Version, next: Version): string | undefined {
  const row = version.moved.find(path);
  if (row?.value === null) return undefined;
  const target = row ? translatePath(path, row.template, row.value) : path;
  if (target === undefined) return undefined;
  const bothKnown = version.contract !== undefined && next.contract !== undefined;
  if (bothKnown && next.contract.paths.find(target) === undefined) return undefined;
  return target;
}

/** The majors from one version to another. Retired ones are included, because their `moved` still applies. */
export interface SuccessorPath {
  readonly end: Version;
  /** Only the steps that may change or end a path; others are left out, so that they cost nothing. */
  readonly hop: Hop | undefined;
}

interface Hop {
  readonly from: Version;
  readonly to: Version;
  readonly next: Hop | undefined;
}

/** The path without a step. */
export function pathEndingAt(end: Version): SuccessorPath {
  return { end, hop: undefined };
}

/** The step `from` → `to`, followed by `onwards`. */
export function prependStep(from: Version, to: Version, onwards: SuccessorPath): SuccessorPath {
  const matters = from.moved.size > 0 || (from.contract !== undefined && to.contract !== undefined);
  return { end: onwards.end, hop: matters ? { from, to, next: onwards.hop } : onwards.hop };
}

export function joinPaths(first: SuccessorPath, second: SuccessorPath): SuccessorPath {
  const prefix = (hop: Hop | undefined): Hop | undefined => hop && { ...hop, next: prefix(hop.next) ?? second.hop };
  return { end: second.end, hop: prefix(first.hop) ?? second.hop };
}

/** The resource `path` at the end; undefined as soon as a step has no counterpart. */
export function followPath(successorPath: SuccessorPath, path: string): string | undefined {
  let target: string | undefined = path;
  for (let { hop } = successorPath; hop && target !== undefined; hop = hop.next)
    target = counterpart(target, hop.from, hop.to);
  return target;
}
