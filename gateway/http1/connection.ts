import type { Socket } from 'node:net';
import { deadlineIn, type Timed, unwatchDeadline, watchDeadline } from './deadlines.ts';
import type { ResponseHandler, WireFailureKind } from './responseHandler.ts';
import { ResponseReader } from './responseReader.ts';
import { type Endpoint, openSocket, type SocketEvents } from './socket.ts';

/** Who hears of a connection that is free again, or gone. */
export interface ConnectionOwner {
  onIdle(connection: Connection, keepAliveHint: number | undefined): void;
  onClose(connection: Connection): void;
}

/** One connection to a target: one exchange at a time, then idle in its pool. */
export class Connection implements Timed, SocketEvents {
  deadline = Number.POSITIVE_INFINITY;
  /** How many exchanges it has carried before the present one: above 0 it may have been closed behind our back. */
  earlierExchanges = -1;
  /** For writing bodies to, and for pausing; reading is done here. */
  readonly socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #reader = new ResponseReader();
  #endsAs: 'unreachable' | 'exhausted' | 'untrusted' | 'lost' = 'unreachable';
  #requestSent = false;
  #silence = 0;
  #cause = 'closed';

  constructor(endpoint: Endpoint, connectTimeout: number, owner: ConnectionOwner) {
    this.#owner = owner;
    this.deadline = deadlineIn(connectTimeout);
    this.socket = openSocket(endpoint, this);
    watchDeadline(this);
  }

  get responseBegun(): boolean {
    return this.#reader.responseBegun;
  }

  get closed(): boolean {
    return this.socket.destroyed;
  }

  /**
   * Sends the head of a request. `bodiless` says that nothing follows it; `expectBody` is false for HEAD.
   * What the handler does not take within `firstByte` ms of the last byte sent fails with `timeout`.
   */
  send(handler: ResponseHandler, head: string, bodiless: boolean, expectBody: boolean, firstByte: number): void {
    this.earlierExchanges += 1;
    this.#silence = firstByte;
    this.#requestSent = bodiless;
    this.#reader.begin(handler, expectBody);
    this.socket.write(head, 'latin1');
    if (this.#endsAs !== 'lost') return;
    this.expect(firstByte);
    if (!bodiless) handler.onConnected();
  }

  /** From the next byte on another one hears: what a response turns into after a 101. */
  handOver(handler: ResponseHandler): void {
    this.#reader.handler = handler;
  }

  /** The request is complete. */
  finish(): void {
    this.#requestSent = true;
  }

  /** From now on a silence of `ms` fails the exchange; each read starts it anew. 0 waits for ever. */
  expect(ms: number): void {
    this.#silence = ms;
    this.deadline = deadlineIn(ms);
  }

  /** Drops the connection; the handler hears no more. */
  destroy(): void {
    this.#reader.handler = undefined;
    this.socket.destroy();
  }

  onDeadline(): void {
    if (this.#reader.handler) this.#fail(this.#endsAs === 'lost' ? 'timeout' : 'connect-timeout', 'timed out');
    else this.destroy();
  }

  onReached(): void {
    this.#endsAs = 'untrusted';
  }

  onConnected(): void {
    this.#endsAs = 'lost';
    this.expect(this.#silence);
    this.#reader.handler?.onConnected();
  }

  onRead(buffer: Buffer, length: number): boolean {
    // Nobody asked: bytes behind a response, or a target that speaks first. Either way they answer no request of ours.
    if (!this.#reader.handler) {
      this.destroy();
      return false;
    }
    if (this.#reader.inBody) this.deadline = deadlineIn(this.#silence);
    const outcome = this.#reader.read(buffer, length);
    // In the meantime the handler may have given up.
    if (this.closed || outcome === 'more') return true;
    if (outcome === 'paused') return false;
    if (outcome === 'done') this.#onResponse();
    else this.#fail('malformed', outcome.message);
    return true;
  }

  /** Frees the connection before it tells: the next request may then use it. */
  #onResponse(): void {
    const reader = this.#reader;
    const { handler } = reader;
    reader.handler = undefined;
    this.deadline = Number.POSITIVE_INFINITY;
    if (reader.reusable && this.#requestSent && !this.closed) this.#owner.onIdle(this, reader.keepAlive);
    else this.socket.destroy();
    const refused = handler && reader.deliver(handler);
    if (refused) handler.onFailure({ kind: 'malformed', cause: refused.message });
  }

  onEnd(): void {
    if (!this.#reader.handler) this.socket.destroy();
    // The other direction of a tunnel may still have something to say.
    else if (this.#reader.isTunnel) this.#reader.handler.onEnd([]);
    else if (this.#reader.endsWithConnection) this.#onResponse();
    else this.#fail('lost', 'closed by the target');
  }

  onDrain(): void {
    this.#reader.handler?.onDrain();
  }

  onError(error: NodeJS.ErrnoException): void {
    this.#cause = error.message;
    if (error.code === 'EMFILE' || error.code === 'ENFILE') this.#endsAs = 'exhausted';
  }

  onClose(): void {
    unwatchDeadline(this);
    this.#owner.onClose(this);
    if (this.#reader.handler) this.#fail(this.#endsAs, this.#cause);
  }

  #fail(kind: WireFailureKind, cause: string): void {
    const handler = this.#reader.handler;
    this.destroy();
    handler?.onFailure({ kind, cause });
  }
}
