import type { IncomingMessage } from 'node:http';

/**
 * Whether a browser says that a page of this very origin sends the request; undefined: it says nothing.
 * A browser sends Sec-Fetch-Site to https and loopback only, Origin with every POST.
 */
export function sameOrigin({ headers }: IncomingMessage): boolean | undefined {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  if (headers.origin === undefined) return undefined;
  return headers.origin.replace(/^https?:\/\//, '') === headers.host;
}
