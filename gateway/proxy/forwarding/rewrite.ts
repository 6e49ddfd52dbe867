import { firstSegment, pathBelow } from '../../routing/requestTarget.ts';

/** How to restore the prefix in URLs of a response. A backend that does not know its prefix sends URLs without it. */
export interface UrlRewriting {
  /** What was removed from the path: `/v1`, or `/api/v1`. */
  readonly removedPrefix: string;
  /** The path of the API of the version. */
  readonly basePath: string;
  /** What precedes a path that begins with the segment of a version: the path of its API, and '' in the API at the root. */
  readonly versionBase: string;
  /** Whether the API has a version with this segment. */
  isVersion(segment: string): boolean;
  /**
   * Set if an adapter serves the version from the backend of another version: maps a path, query and fragment of that version to
   * those of this version.
   */
  mapReference?(reference: string): string;
  /** The same for the Path of a cookie. */
  mapCookiePath?(path: string): string;
}

/** The authorities (`host:port`) under which this API is known. */
export interface ApiAuthorities {
  /** The authority of the backend. */
  readonly target: string;
  /** In the request of the client. */
  readonly client: string;
  /** In `public_url`; '' without one. */
  readonly public: string;
}

/** Restores the prefix in a URI reference: the value of `Location` or `Content-Location`. */
export function rewriteReference(reference: string, urlRewriting: UrlRewriting, authorities: ApiAuthorities): string {
  const parts = /^((https?:)?\/\/([^/?#]*))?(.*)$/is.exec(reference) ?? [];
  const [, origin = '', scheme = '', authority = '', afterOrigin = ''] = parts;
  const normalized = withoutDefaultPort(authority, scheme);
  const isOurs = [authorities.client, authorities.public].some(
    (ours) => ours !== '' && normalized === withoutDefaultPort(ours, scheme),
  );
  const isTarget = normalized === withoutDefaultPort(authorities.target, scheme);
  const belongsToApi = origin === '' ? afterOrigin.startsWith('/') : isOurs || isTarget;
  // Unchanged: the URL of another host, and a relative path, which clients resolve against the URL of their request.
  if (!belongsToApi) return reference;
  const path = afterOrigin.startsWith('/') ? afterOrigin : `/${afterOrigin}`;
  // Remove the origin of the backend, which is internal: clients then resolve the path against our origin.
  const keptOrigin = isOurs ? origin : '';
  // With an adapter, `removedPrefix` is that of the version that the backend serves.
  const prefixedPath = missingPrefix(path, urlRewriting) + path;
  return keptOrigin + (urlRewriting.mapReference ? urlRewriting.mapReference(prefixedPath) : prefixedPath);
}

/** Removes the default port of the scheme: `http://a:80` and `http://a` are the same origin (RFC 3986 §6.2.3). */
function withoutDefaultPort(authority: string, scheme: string): string {
  const defaultPort = /^https:$/i.test(scheme) ? ':443' : ':80';
  const lower = authority.toLowerCase().replace(/:$/, '');
  return scheme !== '' && lower.endsWith(defaultPort) ? lower.slice(0, -defaultPort.length) : lower;
}

/** Rewrites the target of each link, but not quoted text (RFC 8288 §3). Linear time, since the input is untrusted. */
export function rewriteLink(value: string, urlRewriting: UrlRewriting, authorities: ApiAuthorities): string {
  let rewritten = '';
  let copiedTo = 0;
  for (let at = 0; at < value.length; at += 1) {
    const character = value.charAt(at);
    if (character === '"') {
      at = endOfQuoted(value, at);
    } else if (character === '<') {
      const end = value.indexOf('>', at);
      if (end === -1) break;
      rewritten +=
        value.slice(copiedTo, at + 1) + rewriteReference(value.slice(at + 1, end), urlRewriting, authorities);
      copiedTo = end;
      at = end;
    }
  }
  return rewritten + value.slice(copiedTo);
}

/** The index of the quote that closes the one at `start`, or the end of `value`. */
function endOfQuoted(value: string, start: number): number {
  let at = start + 1;
  while (at < value.length && value.charAt(at) !== '"') at += value.charAt(at) === '\\' ? 2 : 1;
  return at;
}

/** Rewrites the URL in `5; url=/x`. Quotes are optional; a comma or white space may replace the `;` (HTML §4.2.5.3). */
export function rewriteRefresh(value: string, urlRewriting: UrlRewriting, authorities: ApiAuthorities): string {
  const beforeUrl = /^[\d.]+[ \t]*(?:[;,]|[ \t])[ \t]*(?:url[ \t]*=[ \t]*)?["']?/i.exec(value)?.[0];
  if (beforeUrl === undefined) return value;
  const quote = /["']$/.exec(beforeUrl)?.[0];
  const end = quote === undefined ? -1 : value.indexOf(quote, beforeUrl.length);
  const url = end === -1 ? value.slice(beforeUrl.length) : value.slice(beforeUrl.length, end);
  return beforeUrl + rewriteReference(url, urlRewriting, authorities) + value.slice(beforeUrl.length + url.length);
}

/** Rewrites the Path of a cookie. `__Host-` cookies require `Path=/`; without a Path, the default of browsers is right. */
export function rewriteCookie(value: string, urlRewriting: UrlRewriting): string {
  if (/^\s*__host-/i.test(value)) return value;
  return value.replace(/(;\s*path\s*=\s*)(\/[^;]*)/gi, (_whole, start: string, path: string) => {
    // `/` becomes `/v1` and not `/v1/`, because a cookie for `/v1/` is not sent with a request to `/v1`.
    const prefix = missingPrefix(path, urlRewriting);
    const isRoot = prefix !== '' && path.trimEnd() === '/';
    const restored = prefix + (isRoot ? '' : path);
    return start + (urlRewriting.mapCookiePath ? urlRewriting.mapCookiePath(restored) : restored);
  });
}

/** What a path of a backend lacks. A path that has a version already is of a backend that adds its prefix itself, or leads to another major. */
function missingPrefix(path: string, { removedPrefix, basePath, versionBase, isVersion }: UrlRewriting): string {
  const pathEnd = path.search(/[?#]/);
  const barePath = pathEnd === -1 ? path : path.slice(0, pathEnd);
  if (isVersion(firstSegment(barePath.trimEnd()))) return versionBase;
  const below = basePath === '' ? undefined : pathBelow(barePath, basePath);
  return below !== undefined && isVersion(firstSegment(below)) ? '' : removedPrefix;
}
