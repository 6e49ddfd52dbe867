import type { Version } from '../config/snapshot.ts';
import type { Announcement } from './announcement.ts';
import { follow } from './successorPath.ts';

/**
 * The Link values of a response to `path` (without version and query), in the order in which they are sent.
 * `basePath` is '' or `/api`.
 */
export function linksFor(
  path: string,
  { toSuccessor, onwards, pages }: Announcement,
  basePath: string,
): readonly string[] {
  const next = toSuccessor && follow(toSuccessor, path);
  if (toSuccessor === undefined || next === undefined || isRefused(next, toSuccessor.end)) return pages;
  const links = [`<${basePath}/${toSuccessor.end.name}${inLink(next)}>; rel="successor-version"`];
  const newest = onwards && follow(onwards, next);
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
