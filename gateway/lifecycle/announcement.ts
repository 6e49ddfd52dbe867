import type { Snapshot, Version } from '../config/snapshot.ts';
import { httpDate } from '../shared/httpDate.ts';
import { type Stage, stageOf } from './stage.ts';
import { counterpart, counterpartAt, latestOf, successorOf } from './successor.ts';

/** What the responses of a version say about its end. It holds for all requests of one second. */
export interface Announcement {
  readonly stage: Stage;
  /** `@<unix seconds>` (RFC 9745 §2.1), or undefined. */
  readonly deprecation: string | undefined;
  /** An IMF-fixdate (RFC 8594 §3), or undefined. */
  readonly sunset: string | undefined;
  /** Link values about the page for people: the same for every path. */
  readonly pages: readonly string[];
  readonly successor: Version | undefined;
  /** The newest live major, when it is another than the successor. */
  readonly latest: Version | undefined;
}

/** What `version` has to say at `now`; undefined while it is active, or a tombstone without dates. */
export function announce(version: Version, snapshot: Snapshot, now: number): Announcement | undefined {
  const stage = stageOf(version, now);
  if (stage === 'active') return undefined;
  const successor = successorOf(version, snapshot, now);
  const latest = latestOf(snapshot, now);
  return {
    stage,
    deprecation: version.deprecation === undefined ? undefined : `@${Math.floor(version.deprecation / 1000)}`,
    sunset: version.sunset === undefined ? undefined : httpDate(version.sunset),
    pages: pagesOf(version),
    successor,
    latest: latest === successor || latest === version ? undefined : latest,
  };
}

/** RFC 9745 §3 and RFC 8594 §6: where people read more. */
function pagesOf(version: Version): string[] {
  if (version.info === undefined) return [];
  const rels = [
    version.deprecation === undefined ? [] : ['deprecation'],
    version.sunset === undefined ? [] : ['sunset'],
  ];
  return rels.flat().map((rel) => `<${version.info}>; rel="${rel}"; type="text/html"`);
}

/**
 * The Link values of a response to `path` (without version and query), in the order in which they are sent.
 * `basePath` is '' or `/api`.
 */
export function linksFor(
  path: string,
  version: Version,
  announcement: Announcement,
  snapshot: Snapshot,
  now: number,
): readonly string[] {
  const { successor, latest, pages } = announcement;
  if (successor === undefined) return pages;
  const { basePath } = snapshot.gateway;
  const next = counterpart(path, version, successor);
  if (next === undefined) return pages;
  const links = [`<${basePath}/${successor.name}${inLink(next)}>; rel="successor-version"`];
  if (latest !== undefined) {
    const newest = counterpartAt(latest, path, version, snapshot, now);
    if (newest !== undefined) links.push(`<${basePath}/${latest.name}${inLink(newest)}>; rel="latest-version"`);
  }
  return pages.length === 0 ? links : links.concat(pages);
}

/** A path may hold these raw on the wire; inside `<…>` they would end the target early (RFC 8288 §3). */
function inLink(path: string): string {
  return /[<>"]/.test(path) ? path.replace(/[<>"]/g, encodeURIComponent) : path;
}
