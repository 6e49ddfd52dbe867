import type { Connection } from '../http1/connection.ts';
import type { ResponseHandler, WireFailure, WireFailureKind } from '../http1/responseHandler.ts';
import type { SecondTarget } from '../upstream/pool.ts';
import type { Failure } from './failure.ts';
import type { Outbound } from './outbound.ts';

/** The connections that one exchange is tried on, one after the other, and what its targets are to be held to for it. */
export class Attempts {
  /** The present one. */
  connection!: Connection;
  readonly #outbound: Outbound;
  readonly #handler: ResponseHandler;
  #count = 0;

  constructor(outbound: Outbound, handler: ResponseHandler) {
    this.#outbound = outbound;
    this.#handler = handler;
  }

  first(): void {
    const { target, timeouts } = this.#outbound;
    this.#send(target.connections.acquire(timeouts.connect));
  }

  connected(): void {
    const { health } = this.#outbound.target;
    if (health.troubled) health.connected();
  }

  /** The head of the response is here. */
  answered(): void {
    const { target, stats } = this.#outbound;
    stats.answeredAfter = performance.now() - stats.sentAt;
    if (target.health.troubled) target.health.succeeded();
  }

  /** The present one has failed, by the fault of `fault`. */
  failed({ kind, cause }: WireFailure, fault: Failure['fault']): void {
    if (fault !== 'target' || crossed(kind, this.connection)) return;
    this.#outbound.target.health.failed(neverReached(kind), cause);
  }

  /** Tries once more after this failure, if that cannot do a thing twice. `bodyBegun`: some of the body has been taken. */
  again(kind: WireFailureKind, bodyBegun: boolean): boolean {
    const { attempts, method, hasBody, target } = this.#outbound;
    if (this.#count >= attempts) return false;
    const where = secondTry(kind, { method, hasBody, bodyBegun, connection: this.connection });
    if (where === 'nowhere' || !this.#outbound.chooseAgain(where)) return false;
    target.inFlight -= 1;
    this.#outbound.stats.retries += 1;
    this.#send(this.#outbound.target.connections.connect(this.#outbound.timeouts.connect));
    return true;
  }

  /** The target is done with it, one way or the other. */
  over(): void {
    this.#outbound.target.inFlight -= 1;
  }

  #send(connection: Connection): void {
    const { target, head, hasBody, method, timeouts, stats } = this.#outbound;
    target.inFlight += 1;
    this.#count += 1;
    this.connection = connection;
    stats.sentAt = performance.now();
    connection.send(this.#handler, head, !hasBody, method !== 'HEAD', timeouts.firstByte);
  }
}

/** What has happened so far, as far as a second try depends on it. */
export interface Attempt {
  readonly method: string;
  readonly hasBody: boolean;
  /** Some of the body has been taken from the client: it cannot be sent again. */
  readonly bodyBegun: boolean;
  readonly connection: Pick<Connection, 'earlierExchanges' | 'responseBegun'>;
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
  if (kind !== 'lost' || connection.responseBegun || hasBody || !safe) return 'nowhere';
  return connection.earlierExchanges > 0 ? 'free' : 'elsewhere';
}

/** Nobody was there. */
export function neverReached(kind: WireFailureKind): boolean {
  return kind === 'unreachable' || kind === 'connect-timeout';
}

/** A kept connection was closed behind our back: two parties crossed on the wire, and neither is at fault. */
export function crossed(kind: WireFailureKind, { earlierExchanges, responseBegun }: Attempt['connection']): boolean {
  return kind === 'lost' && earlierExchanges > 0 && !responseBegun;
}
