import type { Connection } from '../http1/connection.ts';
import type { WireFailureKind } from '../http1/handler.ts';

/** What has happened so far, as far as a second try depends on it. */
export interface Attempt {
  readonly method: string;
  readonly hasBody: boolean;
  /** Some of the body has been taken from the client: it cannot be sent again. */
  readonly bodyBegun: boolean;
  readonly connection: Pick<Connection, 'served' | 'heard'>;
}

/**
 * Only where a second try cannot do a thing twice: no connection was made, so not a byte has left; or a kept one was
 * closed behind our back before it answered a safe request (RFC 9112 §9.3.1).
 */
export function mayTryAgain(kind: WireFailureKind, { method, hasBody, bodyBegun, connection }: Attempt): boolean {
  if (bodyBegun) return false;
  if (kind === 'unreachable' || kind === 'connect-timeout') return true;
  const stale = kind === 'lost' && connection.served > 0 && !connection.heard;
  return stale && !hasBody && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS');
}
