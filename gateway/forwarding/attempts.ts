import type { Connection } from '../http1/connection.ts';
import type { ResponseHandler, WireFailure, WireFailureKind } from '../http1/handler.ts';
import type { Failure } from './failure.ts';
import type { Outbound } from './outbound.ts';
import { crossed, neverReached, secondTry } from './retry.ts';

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
