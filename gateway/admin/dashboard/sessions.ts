import { createHash, randomBytes } from 'node:crypto';

/** How long a browser that logged in is let in without asking again, ms: a working day. */
export const sessionLifetime = 8 * 3_600_000;

// Whoever opens one holds the token already; this only keeps a script that logs in for ever from filling the memory.
const mostSessions = 1_000;

interface Session {
  readonly until: number;
  /** What was the token then: a session does not outlive it. */
  readonly token: string;
}

/** Browsers that have shown the admin token. They are forgotten with the process. Instants in epoch ms. */
export class Sessions {
  // By the digest of the id: how long a look-up takes says nothing about the ids themselves.
  readonly #open = new Map<string, Session>();

  /** @returns the id that the browser is to show from now on. */
  open(token: string, now: number): string {
    for (const [key, { until }] of this.#open) if (until <= now) this.#open.delete(key);
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size >= mostSessions) this.#open.delete(oldest);
    const id = randomBytes(32).toString('base64url');
    this.#open.set(keyOf(id), { until: now + sessionLifetime, token });
    return id;
  }

  /** Whether `id` stands for somebody who showed `token`, the one of this moment. */
  holds(id: string, token: string, now: number): boolean {
    const session = this.#open.get(keyOf(id));
    return session !== undefined && session.until > now && session.token === token;
  }

  end(id: string): void {
    this.#open.delete(keyOf(id));
  }
}

function keyOf(id: string): string {
  return createHash('sha256').update(id).digest('base64');
}
