import type { Connection } from '../http1/connection.ts';
import type { ResponseHandler, WireFailureKind } from '../http1/handler.ts';
import type { Outbound } from './outbound.ts';
import { mayTryAgain } from './retry.ts';

/** The connections that one exchange is tried on, one after the other. */
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
    const { connections } = this.#outbound.target;
    this.#send(connections.reuse() ?? connections.connect(this.#outbound.timeouts.connect));
  }

  /** Tries once more after this failure, if that cannot do a thing twice. `bodyBegun`: some of the body has been taken. */
  again(kind: WireFailureKind, bodyBegun: boolean): boolean {
    const { attempts, method, hasBody } = this.#outbound;
    const attempt = { method, hasBody, bodyBegun, connection: this.connection };
    if (this.#count >= attempts || !mayTryAgain(kind, attempt)) return false;
    this.over();
    if (kind !== 'lost') this.#outbound.chooseAgain();
    this.#send(this.#outbound.target.connections.connect(this.#outbound.timeouts.connect));
    return true;
  }

  /** The target is done with it, one way or the other. */
  over(): void {
    this.#outbound.target.inFlight -= 1;
  }

  #send(connection: Connection): void {
    const { target, head, hasBody, method, timeouts } = this.#outbound;
    target.inFlight += 1;
    this.#count += 1;
    this.connection = connection;
    connection.send(this.#handler, head, !hasBody, method !== 'HEAD', timeouts.firstByte);
  }
}
