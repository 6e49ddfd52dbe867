import { firstSegment, pathBelow } from '../routing/requestTarget.ts';

/** What a stripped version's responses are rewritten with: a backend without its prefix points outside it. */
export interface Rewriting {
  /** What was removed from the path: `/v1`, or `/api/v1`. */
  readonly prefix: string;
  readonly basePath: string;
  isVersion(segment: string): boolean;
}

/** The authorities that mean "here": the backend's own, the one that the client asked, and that of `public_url` or ''. */
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
  const asked = bare(authority, scheme);
  const isOurs = [origins.client, origins.public].some((ours) => ours !== '' && asked === bare(ours, scheme));
  const isTarget = asked === bare(origins.target, scheme);
  if (origin === '' ? !rest.startsWith('/') : !isOurs && !isTarget) return reference;
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  // The backend's own origin is nobody else's business: what remains is relative to ours.
  const kept = isOurs ? origin : '';
  return kept + (isAware(path, basePath, isVersion) ? path : prefix + path);
}

/** Without the port that its scheme has anyway: `http://a:80` and `http://a` are one origin (RFC 3986 §6.2.3). */
function bare(authority: string, scheme: string): string {
  const standard = /^https:$/i.test(scheme) ? ':443' : ':80';
  const lower = authority.toLowerCase().replace(/:$/, '');
  return scheme !== '' && lower.endsWith(standard) ? lower.slice(0, -standard.length) : lower;
}

/** The target of each link, never what stands in quotes (RFC 8288 §3). One pass, whatever a backend sends. */
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

/** `5; url=/x`, with or without quotes; a comma or white space serves as well (HTML §4.2.5.3). */
export function rewriteRefresh(value: string, rewriting: Rewriting, origins: Origins): string {
  const start = /^[\d.]+[ \t]*(?:[;,]|[ \t])[ \t]*(?:url[ \t]*=[ \t]*)?["']?/i.exec(value)?.[0];
  if (start === undefined) return value;
  const quote = /["']$/.exec(start)?.[0];
  const end = quote === undefined ? -1 : value.indexOf(quote, start.length);
  const target = end === -1 ? value.slice(start.length) : value.slice(start.length, end);
  return start + rewriteReference(target, rewriting, origins) + value.slice(start.length + target.length);
}

/** The Path of a cookie. `__Host-` cookies must keep theirs, and without one the browser's default is right already. */
export function rewriteCookie(value: string, { prefix, basePath, isVersion }: Rewriting): string {
  if (/^\s*__host-/i.test(value)) return value;
  return value.replace(/(;\s*path\s*=\s*)(\/[^;]*)/gi, (whole, start: string, path: string) => {
    if (isAware(path, basePath, isVersion)) return whole;
    return `${start}${prefix}${path.trimEnd() === '/' ? '' : path}`;
  });
}

/** A backend that knows its prefix, or that sends to another major, is right already. */
function isAware(path: string, basePath: string, isVersion: Rewriting['isVersion']): boolean {
  const ends = path.search(/[?#]/);
  const bare = ends === -1 ? path : path.slice(0, ends);
  if (isVersion(firstSegment(bare.trimEnd()))) return true;
  const inside = basePath === '' ? undefined : pathBelow(bare, basePath);
  return inside !== undefined && isVersion(firstSegment(inside));
}
