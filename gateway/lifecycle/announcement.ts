import type { Snapshot, Version } from '../config/snapshot.ts';
import { httpDate } from '../shared/httpDate.ts';
import { guidePath } from './guide.ts';
import { type Stage, stageOf } from './stage.ts';
import {
  followPath,
  joinPaths,
  latestVersion,
  nextVersion,
  pathEndingAt,
  prependStep,
  type SuccessorPath,
} from './successor.ts';

/** What the responses of a version say about its end. It holds for all requests of one second. */
export interface Announcement {
  readonly stage: Stage;
  /** `@<unix seconds>` (RFC 9745 §2.1), or undefined. */
  readonly deprecation: string | undefined;
  /** An IMF-fixdate (RFC 8594 §3), or undefined. */
  readonly sunset: string | undefined;
  /** Link values about the page for people: the same for every path. */
  readonly pages: readonly string[];
  /** To the next live major. */
  readonly toSuccessor: SuccessorPath | undefined;
  /** From there to the newest live major, where that is another one and can be reached. */
  readonly onwards: SuccessorPath | undefined;
}

/** What every version of a snapshot has to say at `now`; nothing while it is active. */
export function announcementsAt(snapshot: Snapshot, now: number): ReadonlyMap<Version, Announcement> {
  const latest = latestVersion(snapshot, now);
  const announcements = new Map<Version, Announcement>();
  const stages = new Map(snapshot.byMajor.map((version) => [version, stageOf(version, now)]));
  const toLive = new Map<Version, SuccessorPath>();
  const toLatest = new Map<Version, SuccessorPath>();
  // From the highest major down: successors are higher, so the ways on from them are known already.
  for (const version of snapshot.byMajor.toReversed()) {
    const next = nextVersion(version, snapshot);
    const further = next && (stages.get(next) === 'retired' ? toLive.get(next) : pathEndingAt(next));
    const way = next && further && prependStep(version, next, further);
    if (way) toLive.set(version, way);
    const onwards = way && toLatest.get(way.end);
    if (version === latest) toLatest.set(version, pathEndingAt(version));
    else if (way && onwards) toLatest.set(version, joinPaths(way, onwards));
    const stage = stages.get(version) ?? 'active';
    if (stage !== 'active')
      announcements.set(version, announcementOf(version, stage, way, onwards, guidePath(version, way?.end, snapshot)));
  }
  return announcements;
}

function announcementOf(
  version: Version,
  stage: Stage,
  toSuccessor: SuccessorPath | undefined,
  onwards: SuccessorPath | undefined,
  guide: string | undefined,
): Announcement {
  return {
    stage,
    deprecation: version.deprecation === undefined ? undefined : `@${Math.floor(version.deprecation / 1000)}`,
    sunset: version.sunset === undefined ? undefined : httpDate(version.sunset),
    pages: pagesOf(version, guide),
    toSuccessor,
    onwards: onwards?.end === toSuccessor?.end ? undefined : onwards,
  };
}

/** RFC 9745 §3 and RFC 8594 §6: where people read more. */
function pagesOf({ info, deprecation, sunset }: Version, guide: string | undefined): string[] {
  const page = info ?? guide;
  if (page === undefined) return [];
  const rels = [deprecation === undefined ? [] : ['deprecation'], sunset === undefined ? [] : ['sunset']].flat();
  return rels.map((rel) => `<${page}>; rel="${rel}"; type="text/html"`);
}

/**
 * The Link values of a response to `path` (without version and query), in the order in which they are sent.
 * `basePath` is '' or `/api`.
 */
export function linksFor(
  path: string,
  { toSuccessor, onwards, pages }: Announcement,
  basePath: string,
): readonly string[] {
  const next = toSuccessor && followPath(toSuccessor, path);
  if (toSuccessor === undefined || next === undefined || isRefused(next, toSuccessor.end)) return pages;
  const links = [`<${basePath}/${toSuccessor.end.name}${inLink(next)}>; rel="successor-version"`];
  const newest = onwards && followPath(onwards, next);
  if (onwards && newest !== undefined && !isRefused(newest, onwards.end)) {
    links.push(`<${basePath}/${onwards.end.name}${inLink(newest)}>; rel="latest-version"`);
  }
  return pages.length === 0 ? links : links.concat(pages);
}

/** Where the prefix is stripped, a path that begins with `//` is answered 400. */
function isRefused(path: string, { prefix }: Version): boolean {
  return prefix === 'strip' && path.startsWith('//');
}

/** A path may hold these raw on the wire; inside `<…>` they would end the target early (RFC 8288 §3). */
function inLink(path: string): string {
  return /[<>"]/.test(path) ? path.replace(/[<>"]/g, encodeURIComponent) : path;
}
