import { below, firstSegment } from '../routing/match.ts';

/** What a stripped version's responses are rewritten with: a backend without its prefix points outside it. */
export interface Rewriting {
  /** What was removed from the path: `/v1`, or `/api/v1`. */
  readonly prefix: string;
  readonly basePath: string;
  isVersion(segment: string): boolean;
}

/** The two authorities that mean "here": the backend's own, and the one that the client asked. */
export interface Origins {
  readonly target: string;
  readonly client: string;
}

/** `Location`, `Content-Location`: a URI reference. */
export function rewriteReference(
  reference: string,
  { prefix, basePath, isVersion }: Rewriting,
  origins: Origins,
): string {
  const [, origin = '', authority = '', rest = ''] = /^((?:https?:)?\/\/([^/?#]*))?(.*)$/is.exec(reference) ?? [];
  const asked = authority.toLowerCase();
  const isTarget = origin !== '' && asked === origins.target.toLowerCase();
  if (origin === '' ? !rest.startsWith('/') : !isTarget && asked !== origins.client.toLowerCase()) return reference;
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  // The backend's own origin is nobody else's business: what remains is relative to ours.
  const kept = isTarget && asked !== origins.client.toLowerCase() ? '' : origin;
  return kept + (isAware(path, basePath, isVersion) ? path : prefix + path);
}

/** The target of each link, never what stands in quotes (RFC 8288 §3). */
export function rewriteLink(value: string, rewriting: Rewriting, origins: Origins): string {
  return value.replace(/"(?:[^"\\]|\\.)*"|<([^>]*)>/g, (whole, target?: string) =>
    target === undefined ? whole : `<${rewriteReference(target, rewriting, origins)}>`,
  );
}

/** `5; url=/x`, with or without quotes. */
export function rewriteRefresh(value: string, rewriting: Rewriting, origins: Origins): string {
  const parts = /^(\s*[\d.]*\s*[;,]\s*(?:url\s*=\s*)?)(["']?)(.*?)(\2\s*)$/i.exec(value);
  if (!parts) return value;
  const [, delay, quote, target = '', end] = parts;
  return `${delay}${quote}${rewriteReference(target, rewriting, origins)}${end}`;
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
  const inside = basePath === '' ? undefined : below(bare, basePath);
  return inside !== undefined && isVersion(firstSegment(inside));
}
