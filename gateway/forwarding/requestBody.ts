import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Connection } from '../http1/connection.ts';

/** Who is told how the body ends. */
export interface BodyEvents {
  onBodyTooLarge(): void;
  /** Who is waited for has changed: the client's next bytes, or room at the target. */
  onBodyWaits(waited: 'client' | 'target'): void;
}

/** Streams a request body to a target, with back-pressure; never more than `limit` bytes of it. */
export class RequestBody {
  done = false;
  readonly #req: IncomingMessage;
  readonly #connection: Connection;
  readonly #chunked: boolean;
  readonly #limit: number;
  readonly #events: BodyEvents;
  #sent = 0;

  constructor(req: IncomingMessage, connection: Connection, limit: number, events: BodyEvents) {
    this.#req = req;
    this.#connection = connection;
    this.#chunked = req.headers['transfer-encoding'] !== undefined;
    this.#limit = limit;
    this.#events = events;
    events.onBodyWaits('client');
    req.on('data', this.#onData).on('end', this.#onEnd);
  }

  /** The target has taken what it was given. */
  onDrain(): void {
    if (this.done) return;
    this.#events.onBodyWaits('client');
    this.#req.resume();
  }

  /** Nobody wants the rest: it is read and thrown away. */
  stop(): void {
    this.done = true;
    this.#req.off('data', this.#onData).off('end', this.#onEnd);
    this.#req.resume();
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#sent += chunk.length;
    if (this.#sent > this.#limit) {
      this.stop();
      this.#events.onBodyTooLarge();
      return;
    }
    if (this.#send(chunk)) {
      this.#events.onBodyWaits('client');
      return;
    }
    this.#req.pause();
    this.#events.onBodyWaits('target');
  };

  readonly #onEnd = (): void => {
    this.done = true;
    // Request trailers are dropped: nobody has checked what they claim.
    if (this.#chunked) this.#socket.write('0\r\n\r\n');
    this.#connection.finish();
    this.#events.onBodyWaits('target');
  };

  get #socket(): Socket {
    return this.#connection.socket;
  }

  #send(chunk: Buffer): boolean {
    if (!this.#chunked) return this.#socket.write(chunk);
    this.#socket.cork();
    this.#socket.write(`${chunk.length.toString(16)}\r\n`);
    this.#socket.write(chunk);
    const flowing = this.#socket.write('\r\n');
    this.#socket.uncork();
    return flowing;
  }
}
