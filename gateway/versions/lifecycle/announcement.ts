import type { Snapshot, Version } from '../../config/snapshot.ts';
import { httpDate } from '../../shared/httpDate.ts';
import { PathTable } from '../../shared/pathTable.ts';
import { guidePath } from './guide.ts';
import {
  chainEndingAt,
  joinChains,
  latestVersion,
  nextVersion,
  pathThroughChain,
  prependStep,
  type Stage,
  stageOf,
  type VersionChain,
} from './stage.ts';

/** The values of the lifecycle headers in the responses of a version, computed at most once per second. */
export interface Announcement {
  readonly stage: Stage;
  /** `@<unix seconds>` (RFC 9745 §2.1), or undefined. */
  readonly deprecation: string | undefined;
  /** An IMF-fixdate (RFC 8594 §3), or undefined. */
  readonly sunset: string | undefined;
  /** The documentation page; undefined if there is none. */
  readonly page: string | undefined;
  /** Link values that point to `page`, the same for every path. */
  readonly documentationLinks: readonly string[];
  /** The versions up to the successor, which is the next major that is not retired; undefined if there is none. */
  readonly chainToSuccessor: VersionChain | undefined;
  /** The versions from that successor to the latest major of its API. Undefined if the successor is that major, or no chain leads there. */
  readonly chainFromSuccessorToLatest: VersionChain | undefined;
}

/** The announcements of a snapshot at `now`. A version that is active has one only if some of its routes end. */
export function announcementsAt(snapshot: Snapshot, now: number): ReadonlyMap<Version, Announcement> {
  const latest = new Set([...snapshot.apis.keys()].map((base) => latestVersion(snapshot, base, now)));
  const announcements = new Map<Version, Announcement>();
  const stages = new Map(snapshot.sortedVersions.map((version) => [version, stageOf(version, now)]));
  const chainsToSuccessor = new Map<Version, VersionChain>();
  const chainsToLatest = new Map<Version, VersionChain>();
  const done = new Set<Version>();
  const announce = (version: Version): void => {
    if (done.has(version)) return;
    done.add(version);
    const next = nextVersion(version, snapshot);
    // First the successor, whose chains continue those of this version. In another API, it may have a lower major.
    if (next) announce(next);
    const chainFromNext = next && (stages.get(next) === 'retired' ? chainsToSuccessor.get(next) : chainEndingAt(next));
    const chainToSuccessor = next && chainFromNext && prependStep(version, next, chainFromNext);
    if (chainToSuccessor) chainsToSuccessor.set(version, chainToSuccessor);
    const chainFromSuccessorToLatest = chainToSuccessor && chainsToLatest.get(chainToSuccessor.lastVersion);
    if (latest.has(version)) chainsToLatest.set(version, chainEndingAt(version));
    else if (chainToSuccessor && chainFromSuccessorToLatest)
      chainsToLatest.set(version, joinChains(chainToSuccessor, chainFromSuccessorToLatest));
    const stage = stages.get(version) ?? 'active';
    if (stage !== 'active' || version.ends.length > 0)
      announcements.set(
        version,
        announcementOf(
          version,
          stage,
          chainToSuccessor,
          chainFromSuccessorToLatest,
          guidePath(version, chainToSuccessor?.lastVersion, snapshot),
        ),
      );
  };
  for (const version of snapshot.sortedVersions.toReversed()) announce(version);
  return announcements;
}

function announcementOf(
  version: Version,
  stage: Stage,
  chainToSuccessor: VersionChain | undefined,
  chainFromSuccessor: VersionChain | undefined,
  guide: string | undefined,
): Announcement {
  return {
    stage,
    deprecation: version.deprecation === undefined ? undefined : `@${Math.floor(version.deprecation / 1000)}`,
    sunset: version.sunset === undefined ? undefined : httpDate(version.sunset),
    page: version.info ?? guide,
    documentationLinks: pageLinks(version.info ?? guide, version),
    chainToSuccessor,
    chainFromSuccessorToLatest:
      chainFromSuccessor?.lastVersion === chainToSuccessor?.lastVersion ? undefined : chainFromSuccessor,
  };
}

/** Links to documentation (RFC 9745 §3, RFC 8594 §6). */
export function pageLinks(
  page: string | undefined,
  { deprecation, sunset }: { readonly deprecation?: unknown; readonly sunset?: unknown },
): string[] {
  if (page === undefined) return [];
  const rels = [deprecation === undefined ? [] : ['deprecation'], sunset === undefined ? [] : ['sunset']].flat();
  return rels.map((rel) => `<${page}>; rel="${rel}"; type="text/html"`);
}

/**
 * The Link values of a response to `path` (without version and query), in the order in which they are sent.
 * `basePath` is '' or `/api`. `isMissing`: whether a version answers 404 to a path, although no contract says so.
 */
export function linksFor(
  path: string,
  { chainToSuccessor, chainFromSuccessorToLatest: chainFromSuccessor, documentationLinks }: Announcement,
  basePath: string,
  isMissing: (version: Version, path: string) => boolean = () => false,
): readonly string[] {
  const pathInSuccessor = chainToSuccessor && pathThroughChain(chainToSuccessor, path);
  if (
    chainToSuccessor === undefined ||
    pathInSuccessor === undefined ||
    isRefused(pathInSuccessor, chainToSuccessor.lastVersion) ||
    isMissing(chainToSuccessor.lastVersion, pathInSuccessor)
  )
    return documentationLinks;
  const links = [
    `<${basePath}/${chainToSuccessor.lastVersion.name}${escapeLinkTarget(pathInSuccessor)}>; rel="successor-version"`,
  ];
  const pathInLatest = chainFromSuccessor && pathThroughChain(chainFromSuccessor, pathInSuccessor);
  if (
    chainFromSuccessor &&
    pathInLatest !== undefined &&
    !isRefused(pathInLatest, chainFromSuccessor.lastVersion) &&
    !isMissing(chainFromSuccessor.lastVersion, pathInLatest)
  ) {
    links.push(
      `<${basePath}/${chainFromSuccessor.lastVersion.name}${escapeLinkTarget(pathInLatest)}>; rel="latest-version"`,
    );
  }
  return documentationLinks.length === 0 ? links : links.concat(documentationLinks);
}

/** A version whose prefix is stripped answers 400 for a path that begins with `//`. */
function isRefused(path: string, { prefix }: Version): boolean {
  return prefix === 'strip' && path.startsWith('//');
}

/** Escapes characters that a request path may contain, but that would end a link target `<…>` early (RFC 8288 §3). */
function escapeLinkTarget(path: string): string {
  return /[<>"]/.test(path) ? path.replace(/[<>"]/g, encodeURIComponent) : path;
}

/** The values of the lifecycle headers of a route that ends, on its own or with its version. */
export interface AnnouncedEnd {
  readonly deprecation: string;
  readonly sunset: string | undefined;
  /** Epoch ms. */
  readonly deprecatedAt: number;
  readonly sunsetAt: number | undefined;
}

/** The routes of a version that end before the version. Their end is only announced: no request is refused. */
export class RouteEnds {
  readonly #paths: PathTable<unknown>;
  /** Path template → method → the end. */
  readonly #byTemplate: ReadonlyMap<string, ReadonlyMap<string, AnnouncedEnd>>;

  private constructor(version: Version) {
    const {
      ends,
      contract,
      deprecation: versionDeprecation = Number.POSITIVE_INFINITY,
      sunset: versionSunset,
    } = version;
    // Has all paths of the contract, so that `/drinks/{id}` does not match `/drinks/mine` if the contract lists both.
    this.#paths = contract?.paths ?? new PathTable(ends.map(({ path }) => [path, true] as const));
    const byTemplate = new Map<string, Map<string, AnnouncedEnd>>();
    for (const { method, path, deprecation, sunset } of ends) {
      const template = this.#paths.find(path)?.template ?? path;
      const byMethod = byTemplate.get(template) ?? new Map<string, AnnouncedEnd>();
      const [deprecatedAt, sunsetAt] = [Math.min(deprecation, versionDeprecation), sunset ?? versionSunset];
      byMethod.set(method, {
        deprecation: `@${Math.floor(deprecatedAt / 1000)}`,
        sunset: sunsetAt === undefined ? undefined : httpDate(sunsetAt),
        deprecatedAt,
        sunsetAt,
      });
      byTemplate.set(template, byMethod);
    }
    this.#byTemplate = byTemplate;
  }

  /** Undefined if no route of the version ends. Its requests then need no look-up. */
  static of(version: Version): RouteEnds | undefined {
    return version.ends.length === 0 ? undefined : new RouteEnds(version);
  }

  /** `path`: without version and query. HEAD ends with GET, unless it has an end of its own. */
  find(method: string, path: string): AnnouncedEnd | undefined {
    const found = this.#paths.find(path);
    const byMethod = found && this.#byTemplate.get(found.template);
    return byMethod && (byMethod.get(method) ?? (method === 'HEAD' ? byMethod.get('GET') : undefined));
  }
}
