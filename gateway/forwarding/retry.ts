import type { Connection } from '../http1/connection.ts';
import type { WireFailureKind } from '../http1/handler.ts';
import type { SecondTarget } from '../upstream/pool.ts';

/** What has happened so far, as far as a second try depends on it. */
export interface Attempt {
  readonly method: string;
  readonly hasBody: boolean;
  /** Some of the body has been taken from the client: it cannot be sent again. */
  readonly bodyBegun: boolean;
  readonly connection: Pick<Connection, 'served' | 'heard'>;
}

/** `free`: no target is in trouble, so it does not come out of the budget. */
export type SecondTry = SecondTarget | 'nowhere';

/**
 * Only where a second try cannot do a thing twice: no connection was made, so not a byte has left; or the connection
 * was lost before it answered a safe request (RFC 9110 §9.2.2). A kept one may have been closed behind our back
 * (RFC 9112 §9.3.1); a fresh one was lost by its target, which need not be asked the same again.
 */
export function secondTry(kind: WireFailureKind, { method, hasBody, bodyBegun, connection }: Attempt): SecondTry {
  if (bodyBegun) return 'nowhere';
  // All addresses of its name were tried: to wait for the same target once more would only double the time-out.
  if (kind === 'connect-timeout') return 'elsewhere';
  if (neverReached(kind) || kind === 'untrusted') return 'anywhere';
  const safe = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  if (kind !== 'lost' || connection.heard || hasBody || !safe) return 'nowhere';
  return connection.served > 0 ? 'free' : 'elsewhere';
}

/** Nobody was there. */
export function neverReached(kind: WireFailureKind): boolean {
  return kind === 'unreachable' || kind === 'connect-timeout';
}

/** A kept connection was closed behind our back: two parties crossed on the wire, and neither is at fault. */
export function crossed(kind: WireFailureKind, { served, heard }: Attempt['connection']): boolean {
  return kind === 'lost' && served > 0 && !heard;
}
