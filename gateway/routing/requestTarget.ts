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
  for (let at = 1; at < target.length; at += 1) {
    const code = target.charCodeAt(at);
    // A slash or a question mark.
    if (code === 0x2f || code === 0x3f) return target.slice(1, at);
  }
  return target.slice(1);
}

/** The segment of an origin-form target that names its version, as received; '' if the target is not below `basePath`. */
export function versionSegment(target: string, basePath: string): string {
  const pathBelowBase = pathBelow(target, basePath);
  return pathBelowBase === undefined ? '' : firstSegment(pathBelowBase);
}

/** Whether a segment has the form of a version, configured or not. */
export function looksLikeVersion(segment: string): boolean {
  return /^v[0-9]/i.test(segment);
}
