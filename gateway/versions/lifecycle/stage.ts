import type { AcceptedVersion } from '../../config/acceptedConfig.ts';
import { baseOf, nextInApi } from '../../config/api.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { dateText } from '../../shared/instant.ts';
import { translatePath } from '../../shared/pathTable.ts';
import { plural, printableExcerpt } from '../../shared/text.ts';

type Dated = Pick<Version, 'deprecation' | 'sunset' | 'afterSunset' | 'retired'>;

/**
 * The lifecycle stage of a version.
 * - `active`: nothing is announced
 * - `announced`: before its deprecation date
 * - `deprecated`: past that date
 * - `sunset`: past its sunset date, but still served (`after_sunset: serve`)
 * - `retired`: answered 410
 */
export type Stage = 'active' | 'announced' | 'deprecated' | 'sunset' | 'retired';

export function stageOf(version: Dated, now: number): Stage {
  if (version.retired) return 'retired';
  if (version.sunset !== undefined && version.sunset <= now) {
    return version.afterSunset === 'gone' ? 'retired' : 'sunset';
  }
  if (version.deprecation === undefined) return 'active';
  return version.deprecation <= now ? 'deprecated' : 'announced';
}

/** The waivers by which a retired version still serves clients. Empty for a version that is not retired. */
export function runningWaivers(version: Dated & Pick<Version, 'waivers'>, now: number): Version['waivers'] {
  if (version.waivers.length === 0 || stageOf(version, now) !== 'retired') return [];
  return version.waivers.filter(({ until }) => now < until).sort((a, b) => a.until - b.until);
}

/** The clients that the freeze of a version never refuses: those of `allow`, and those with a waiver that has not ended. */
export function clientsSparedByFreeze(
  { freeze, waivers }: Pick<AcceptedVersion, 'freeze' | 'waivers'>,
  now: number,
): readonly string[] {
  const waivedClients = waivers.filter(({ until }) => now < until).flatMap(({ clients = [] }) => clients);
  return [...(freeze?.allow ?? []), ...waivedClients];
}

/** As `stageOf`, but `sunset` instead of `retired` while waived clients are still served. */
export function stageWithWaivers(version: Dated & Pick<Version, 'waivers'>, now: number): Stage {
  return runningWaivers(version, now).length > 0 ? 'sunset' : stageOf(version, now);
}

/** The versions that an adapter serves from the backend of the version `name`. */
export function adaptedVersions(
  name: string,
  { sortedVersions }: Pick<Snapshot, 'sortedVersions'>,
  now: number,
): Version[] {
  const adapted = sortedVersions.filter(({ adapter }) => adapter?.mode === 'serve' && adapter.from === name);
  return adapted.filter((version) => stageWithWaivers(version, now) !== 'retired');
}

const maxNamedClients = 5;

/** `1 waived client: acme until 2027-09-01`. Undefined without waivers. */
export function waiverWords(
  waivers: readonly { readonly client: string; readonly until: number }[],
): string | undefined {
  if (waivers.length === 0) return undefined;
  const named = waivers
    .slice(-maxNamedClients)
    .map(({ client, until }) => `${printableExcerpt(client)} until ${dateText(until)}`);
  const more = waivers.length > named.length ? `${named.length} of them: ` : '';
  return `${plural(waivers.length, 'waived client')}: ${more}${named.join(', ')}`;
}

interface VersionSet<Kind extends AcceptedVersion> {
  readonly versions: ReadonlyMap<string, Kind>;
  readonly sortedVersions: readonly Kind[];
}

/** The version after `version`, retired or not: its configured `successor`, else the next higher major. */
export function nextVersion<Kind extends AcceptedVersion>(version: Kind, snapshot: VersionSet<Kind>): Kind | undefined {
  if (version.successor !== undefined) return snapshot.versions.get(version.successor);
  return nextInApi(version, snapshot.sortedVersions);
}

/** The version that clients of `version` should move to: the next one that is not retired. */
export function successorOf<Kind extends AcceptedVersion>(
  version: Kind,
  snapshot: VersionSet<Kind>,
  now: number,
): Kind | undefined {
  let next = nextVersion(version, snapshot);
  // A snapshot has no cycle of successors, so the loop ends.
  while (next && stageOf(next, now) === 'retired') next = nextVersion(next, snapshot);
  return next;
}

/** The highest major of an API that is not retired. */
export function latestVersion(snapshot: Snapshot, base: string, now: number): Version | undefined {
  return snapshot.sortedVersions.findLast(
    (version) => baseOf(version.name) === base && stageOf(version, now) !== 'retired',
  );
}

/**
 * The path of the same resource in the next major: the path to which `moved` maps it, or the same path. `path` has no version
 * and no query: `/drinks/7`. The result has a final slash if `moved` or both contracts say so. Undefined if `moved` maps it to null, or
 * if both majors have a contract and the contract of the next major does not list the path.
 */
export function counterpart(path: string, version: Version, next: Version): string | undefined {
  const row = version.moved.find(path);
  if (row?.value === null) return undefined;
  const nextPath = row ? translatePath(path, row.template, row.value) : path;
  if (nextPath === undefined) return undefined;
  if (version.contract === undefined || next.contract === undefined) return nextPath;
  return next.contract.paths.find(nextPath)?.path;
}

/**
 * Whether `moved` or both contracts say what the counterpart of `path` in the version `to` is, or that there is none. False: the
 * counterpart is only assumed to have the same path, and may not exist.
 */
export function isCounterpartKnown<Kind extends Version>(
  path: string,
  from: Kind,
  to: Kind,
  snapshot: VersionSet<Kind>,
): boolean {
  let currentPath = path;
  for (let version = from; version !== to; ) {
    const next = nextVersion(version, snapshot);
    if (next === undefined) return false;
    const haveContracts = version.contract !== undefined && next.contract !== undefined;
    if (!haveContracts && version.moved.find(currentPath) === undefined) return false;
    const nextPath = counterpart(currentPath, version, next);
    if (nextPath === undefined) return true;
    currentPath = nextPath;
    version = next;
  }
  return true;
}

/** A version, the next major, and so on up to `lastVersion`. Retired versions are included, because their `moved` still applies. */
export interface VersionChain {
  readonly lastVersion: Version;
  /** The first of the steps in which the path of a request may change or have no counterpart. Other steps are left out to save time. */
  readonly firstStep: Step | undefined;
}

interface Step {
  readonly from: Version;
  readonly to: Version;
  readonly next: Step | undefined;
}

/** A chain that consists of one version. */
export function chainEndingAt(lastVersion: Version): VersionChain {
  return { lastVersion, firstStep: undefined };
}

/** The step `from` → `to`, followed by `rest`. */
export function prependStep(from: Version, to: Version, rest: VersionChain): VersionChain {
  const mayChangePath = from.moved.size > 0 || (from.contract !== undefined && to.contract !== undefined);
  return {
    lastVersion: rest.lastVersion,
    firstStep: mayChangePath ? { from, to, next: rest.firstStep } : rest.firstStep,
  };
}

export function joinChains(first: VersionChain, second: VersionChain): VersionChain {
  const withSecondChain = (step: Step | undefined): Step | undefined =>
    step ? { ...step, next: withSecondChain(step.next) } : second.firstStep;
  return { lastVersion: second.lastVersion, firstStep: withSecondChain(first.firstStep) };
}

/** The path of the resource `path` in the last version of the chain; undefined if a step has no counterpart for it. */
export function pathThroughChain(versionChain: VersionChain, path: string): string | undefined {
  let currentPath: string | undefined = path;
  for (let step = versionChain.firstStep; step && currentPath !== undefined; step = step.next)
    currentPath = counterpart(currentPath, step.from, step.to);
  return currentPath;
}
