import { firstSegment, pathBelow } from '../routing/requestTarget.ts';

/** Restores the prefix in URLs of a response: a backend that does not know its prefix links outside of it. */
export interface Rewriting {
  /** What was removed from the path: `/v1`, or `/api/v1`. */
  readonly prefix: string;
  readonly basePath: string;
  isVersion(segment: string): boolean;
}

/** The authorities of this API: the backend's, the one that the client asked for, and that of `public_url` or ''. */
export interface Origins {
  readonly target: string;
  readonly client: string;
  readonly public: string;
}

/** `Location`, `Content-Location`: a URI reference. */
export function rewriteReference(
  reference: string,
  { prefix, basePath, isVersion }: Rewriting,
  origins: Origins,
): string {
  const parts = /^((https?:)?\/\/([^/?#]*))?(.*)$/is.exec(reference) ?? [];
  const [, origin = '', scheme = '', authority = '', rest = ''] = parts;
  const asked = withoutDefaultPort(authority, scheme);
  const isOurs = [origins.client, origins.public].some(
    (ours) => ours !== '' && asked === withoutDefaultPort(ours, scheme),
  );
  const isTarget = asked === withoutDefaultPort(origins.target, scheme);
  if (origin === '' ? !rest.startsWith('/') : !isOurs && !isTarget) return reference;
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  // The backend's origin is internal. Without it the reference is relative to ours.
  const kept = isOurs ? origin : '';
  return kept + (hasVersionPrefix(path, basePath, isVersion) ? path : prefix + path);
}

/** Without the default port of its scheme: `http://a:80` and `http://a` are the same origin (RFC 3986 §6.2.3). */
function withoutDefaultPort(authority: string, scheme: string): string {
  const standard = /^https:$/i.test(scheme) ? ':443' : ':80';
  const lower = authority.toLowerCase().replace(/:$/, '');
  return scheme !== '' && lower.endsWith(standard) ? lower.slice(0, -standard.length) : lower;
}

/** Rewrites the target of each link, not quoted text (RFC 8288 §3). One pass, because the backend chooses the input. */
export function rewriteLink(value: string, rewriting: Rewriting, origins: Origins): string {
  let rewritten = '';
  let done = 0;
  for (let at = 0; at < value.length; at += 1) {
    const character = value.charAt(at);
    if (character === '"') {
      at = endOfQuoted(value, at);
    } else if (character === '<') {
      const end = value.indexOf('>', at);
      if (end === -1) break;
      rewritten += value.slice(done, at + 1) + rewriteReference(value.slice(at + 1, end), rewriting, origins);
      done = end;
      at = end;
    }
  }
  return rewritten + value.slice(done);
}

/** The index of the quote that closes the one at `start`, or the end. */
function endOfQuoted(value: string, start: number): number {
  let at = start + 1;
  while (at < value.length && value.charAt(at) !== '"') at += value.charAt(at) === '\\' ? 2 : 1;
  return at;
}

/** `5; url=/x`, with or without quotes; a comma or white space may replace the semicolon (HTML §4.2.5.3). */
export function rewriteRefresh(value: string, rewriting: Rewriting, origins: Origins): string {
  const start = /^[\d.]+[ \t]*(?:[;,]|[ \t])[ \t]*(?:url[ \t]*=[ \t]*)?["']?/i.exec(value)?.[0];
  if (start === undefined) return value;
  const quote = /["']$/.exec(start)?.[0];
  const end = quote === undefined ? -1 : value.indexOf(quote, start.length);
  const target = end === -1 ? value.slice(start.length) : value.slice(start.length, end);
  return start + rewriteReference(target, rewriting, origins) + value.slice(start.length + target.length);
}

/** Rewrites the Path of a cookie. `__Host-` cookies must keep theirs, and without Path the browser's default is right. */
export function rewriteCookie(value: string, { prefix, basePath, isVersion }: Rewriting): string {
  if (/^\s*__host-/i.test(value)) return value;
  return value.replace(/(;\s*path\s*=\s*)(\/[^;]*)/gi, (whole, start: string, path: string) => {
    if (hasVersionPrefix(path, basePath, isVersion)) return whole;
    return `${start}${prefix}${path.trimEnd() === '/' ? '' : path}`;
  });
}

/** Whether a path names a version already: the backend knows its prefix, or links to another major. */
function hasVersionPrefix(path: string, basePath: string, isVersion: Rewriting['isVersion']): boolean {
  const ends = path.search(/[?#]/);
  const bare = ends === -1 ? path : path.slice(0, ends);
  if (isVersion(firstSegment(bare.trimEnd()))) return true;
  const inside = basePath === '' ? undefined : pathBelow(bare, basePath);
  return inside !== undefined && isVersion(firstSegment(inside));
}
