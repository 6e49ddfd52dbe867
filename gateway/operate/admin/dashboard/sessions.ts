import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** How long a login lasts: a working day. */
export const sessionLifetimeMs = 8 * 3_600_000;

// Only holders of the token can open sessions; this bounds the memory if a script logs in again and again.
const maxSessions = 1_000;

interface Session {
  /** The end of the session. */
  readonly until: number;
  /** The token at the login. The session ends when the token changes. */
  readonly token: string;
}

/** The login sessions of browsers, in memory only. Instants in epoch ms. */
export class Sessions {
  // The keys are digests of the session ids, so that the time of a look-up reveals nothing about the ids.
  readonly #sessions = new Map<string, Session>();

  /** @returns the id of the new session */
  open(token: string, now: number): string {
    for (const [key, { until }] of this.#sessions) if (until <= now) this.#sessions.delete(key);
    const [oldest] = this.#sessions.keys();
    if (oldest !== undefined && this.#sessions.size >= maxSessions) this.#sessions.delete(oldest);
    const id = randomBytes(32).toString('base64url');
    this.#sessions.set(keyOf(id), { until: now + sessionLifetimeMs, token });
    return id;
  }

  /** `token`: the current one. */
  isValid(id: string, token: string, now: number): boolean {
    const session = this.#sessions.get(keyOf(id));
    return session !== undefined && session.until > now && session.token === token;
  }

  end(id: string): void {
    this.#sessions.delete(keyOf(id));
  }
}

function keyOf(id: string): string {
  return createHash('sha256').update(id).digest('base64');
}

const cookieName = 'version_gateway_session';

/** The session id in the cookie of a request; undefined: there is none. */
export function sessionOf({ headers }: IncomingMessage): string | undefined {
  return new RegExp(`(?:^|;) *${cookieName}=([\\w-]{43})(?:;|$)`).exec(headers.cookie ?? '')?.[1];
}

/** The Set-Cookie value that gives the browser this session id; '' removes the cookie (RFC 6265 §4.1). */
export function sessionCookie(req: IncomingMessage, id: string): string {
  const maxAgeSeconds = id === '' ? 0 : sessionLifetimeMs / 1_000;
  const secure = isSecure(req) ? '; Secure' : '';
  return `${cookieName}=${id}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}

// This listener speaks plain HTTP, so a proxy terminates TLS. A client that forges Origin or X-Forwarded-Proto harms only its own
// login.
function isSecure({ headers }: IncomingMessage): boolean {
  return /^https\b/i.test(headers.origin ?? String(headers['x-forwarded-proto'] ?? ''));
}
