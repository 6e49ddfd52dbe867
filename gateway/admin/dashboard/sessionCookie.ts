import type { IncomingMessage } from 'node:http';
import { sessionLifetime } from './sessions.ts';

const name = 'version_gateway_session';

/** The id that a browser shows; undefined: none. */
export function sessionOf({ headers }: IncomingMessage): string | undefined {
  return new RegExp(`(?:^|;) *${name}=([\\w-]{43})(?:;|$)`).exec(headers.cookie ?? '')?.[1];
}

/** The Set-Cookie value that gives `id` to the browser behind `req`; '' takes it away (RFC 6265 §4.1). */
export function sessionCookie(req: IncomingMessage, id: string): string {
  const age = id === '' ? 0 : sessionLifetime / 1_000;
  const secure = isSecure(req) ? '; Secure' : '';
  return `${name}=${id}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`;
}

// The listener speaks plain HTTP, so TLS ends before it. Whoever lies about that only hides a cookie from himself.
function isSecure({ headers }: IncomingMessage): boolean {
  return /^https\b/i.test(headers.origin ?? String(headers['x-forwarded-proto'] ?? ''));
}
