import { isAuthority } from '../http1/grammar.ts';

/** A request-target (RFC 9112 §3.2) that may be routed and forwarded unchanged. */
interface RequestTarget {
  /** Origin-form, as received: path and query, byte for byte. */
  readonly originForm: string;
  /** Where the path ends in `originForm`: its length, or the index of `?`. */
  readonly pathEnd: number;
  /** The authority of an absolute-form target, which replaces Host (RFC 9112 §3.2.2). */
  readonly authority: string | undefined;
}

// A path that needs no further check: no dot, no percent sign.
const ordinaryPath = /^\/(?!\/)[\w~!$&'()*+,;=:@/-]*$/;
const visibleAscii = /^[\x21-\x7e]*$/;
// More layers of escapes than real clients use. Each costs a pass over the path.
const maxEscapeLayers = 8;
const slash = 0x2f;
const questionMark = 0x3f;
// A percent sign and its two digits. A percent sign without them is matched alone.
const escapes = /%(?:([0-9A-Fa-f]{2})|)/g;

/** Parses a request-target. If the target is refused, returns the reason as text. */
export function parseRequestTarget(target: string): RequestTarget | string {
  if (target.startsWith('/')) return readOriginForm(target, undefined);
  const scheme = /^https?:\/\//i.exec(target);
  if (!scheme) return 'the request target is neither a path nor an http URL';
  const start = scheme[0].length;
  const authorityLength = target.slice(start).search(/[/?#\\]/);
  const authority = authorityLength === -1 ? target.slice(start) : target.slice(start, start + authorityLength);
  if (!isAuthority(authority)) return 'the authority of the request target is not valid';
  const afterAuthority = target.slice(start + authority.length);
  return readOriginForm(afterAuthority.startsWith('/') ? afterAuthority : `/${afterAuthority}`, authority);
}

function readOriginForm(originForm: string, authority: string | undefined): RequestTarget | string {
  const queryStart = originForm.indexOf('?');
  const pathEnd = queryStart === -1 ? originForm.length : queryStart;
  const path = queryStart === -1 ? originForm : originForm.slice(0, queryStart);
  if (queryStart !== -1 && !visibleAscii.test(originForm.slice(queryStart)))
    return 'a byte in the query that is not allowed in a URL';
  const ambiguity = ordinaryPath.test(path) ? undefined : ambiguityOf(path);
  return ambiguity ?? { originForm, pathEnd, authority };
}

/** Why another server might interpret the path differently; undefined if no server would. */
function ambiguityOf(path: string): string | undefined {
  if (path.startsWith('//')) return 'the path begins with //';
  if (!visibleAscii.test(path)) return 'a byte in the path that is not allowed in a URL';
  if (/[\\#]/.test(path)) return 'a \\ or # in the path';
  for (const [escaped, digits] of path.matchAll(escapes)) {
    if (digits === undefined) return 'a % in the path that is not part of an escape';
    const code = Number.parseInt(digits, 16);
    if (code < 0x20 || code === 0x7f) return `${escaped} in the path`;
  }
  return ambiguityInLayers(path);
}

/** Finds dot segments in every layer of escapes: a backend may decode more than once. */
function ambiguityInLayers(path: string): string | undefined {
  let layer = path;
  for (let depth = 0; depth < maxEscapeLayers; depth += 1) {
    if (/(?:^|[/\\])\.{1,2}(?:[;/\\?#]|$)/.test(layer)) return 'a . or .. segment in the path';
    const decoded = layer.replace(escapes, (escaped, digits?: string) =>
      digits === undefined ? escaped : String.fromCharCode(Number.parseInt(digits, 16)),
    );
    if (decoded === layer) return undefined;
    layer = decoded;
  }
  return 'a path with too many layers of escapes';
}

/**
 * The part of `path` after `basePath`, or undefined if `path` is not below it. `/api`, `/api/x` and `/api?x` are below `/api`;
 * `/apix` is not. `basePath` has no trailing slash.
 */
export function pathBelow(path: string, basePath: string): string | undefined {
  if (basePath === '') return path;
  if (!path.startsWith(basePath)) return undefined;
  const next = path.charAt(basePath.length);
  return next === '' || next === '/' || next === '?' ? path.slice(basePath.length) : undefined;
}

/**
 * The first segment of an origin-form target, as received: `v1` of `/v1/drinks`, of `/v1?x` and of `/v1`.
 * It is not decoded or lower-cased, so that `/V1`, `/v01` and `/v1%2fx` match no version.
 */
export function firstSegment(target: string): string {
  return target.slice(1, segmentEnd(target, 1));
}

/**
 * The id in an origin-form target that may name a version, as received: what follows `basePath` up to the first segment with the form
 * of a version, `orders/v1` of `/orders/v1/7`. No base of an API has such a segment, so the longest base is the only one that fits.
 * '' if none of the first `maxSegments` segments has that form, or the target is not below `basePath`.
 */
export function versionId(target: string, basePath: string, maxSegments: number): string {
  if (!target.startsWith(basePath)) return '';
  const start = basePath.length;
  let at = start;
  for (let segments = 0; segments < maxSegments; segments += 1) {
    // A segment ends where the next one begins. Where there is no other, the target has no further version.
    if (target.charCodeAt(at) !== slash) return '';
    const end = segmentEnd(target, at + 1);
    if (looksLikeVersion(target, at + 1)) return target.slice(start + 1, end);
    at = end;
  }
  return '';
}

/** Whether the path of an origin-form target is `path`, or below it. */
export function isAtOrBelow(target: string, path: string): boolean {
  return target.startsWith(path) && segmentEnd(target, path.length) === path.length;
}

/** Where the segment that begins at `start` ends: at a slash, at the query, or with the target. */
function segmentEnd(target: string, start: number): number {
  for (let at = start; at < target.length; at += 1) {
    const code = target.charCodeAt(at);
    if (code === slash || code === questionMark) return at;
  }
  return target.length;
}

/** Whether the segment at `start` has the form of a version, configured or not: a `v` and a digit. */
function looksLikeVersion(target: string, start: number): boolean {
  const digit = target.charCodeAt(start + 1);
  // 0x20 is the difference between a capital and a small letter.
  return (target.charCodeAt(start) | 0x20) === 0x76 && digit >= 0x30 && digit <= 0x39;
}
