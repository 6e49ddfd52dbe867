import type { Socket } from 'node:net';
import type { Connection } from '../http1/connection.ts';
import type { ExchangeStats, IncomingRequest, Outbound } from './outbound.ts';

interface BodyEvents {
  onBodyTooLarge(): void;
  /** The body waits for more bytes of the client, for `ms` at most; 0: no limit. */
  onBodyWaitsForClient(ms: number): void;
  /** The body waits until the target reads or responds. */
  onBodyWaitsForTarget(): void;
}

// A client may be slow, but must not occupy a backend without limit. Its pauses may add up to one minute, and each byte
// that it sends restores 2 ms of that minute.
const graceMs = 60_000;
const msPerByte = 2;

/** Streams a request body to a target, with back-pressure, up to `bodyLimit` bytes. */
export class RequestBody {
  done = false;
  readonly #req: IncomingRequest;
  readonly #connection: Connection;
  readonly #chunked: boolean;
  readonly #limit: number;
  readonly #events: BodyEvents;
  readonly #idle: number;
  readonly #stats: ExchangeStats;
  // How long the client may still pause in total, ms.
  #allowance = graceMs;
  // When the current pause began, by `performance.now()`.
  #pausedSince = 0;

  constructor(
    { req, hasChunkedBody, bodyLimit, bodyIdle, stats }: Outbound,
    connection: Connection,
    events: BodyEvents,
  ) {
    this.#req = req;
    this.#connection = connection;
    this.#chunked = hasChunkedBody;
    this.#limit = bodyLimit;
    this.#idle = bodyIdle;
    this.#stats = stats;
    this.#events = events;
    this.#waitForClient();
    req.on('data', this.#onData).on('end', this.#onEnd);
  }

  /** The write buffer of the connection is empty again. */
  onDrain(): void {
    if (this.done) return;
    this.#waitForClient();
    this.#req.resume();
  }

  /** Discards the rest of the body. */
  stop(): void {
    if (this.done) return;
    this.done = true;
    this.#req.off('data', this.#onData).off('end', this.#onEnd);
    this.#req.resume();
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#stats.bytesIn += chunk.length;
    if (this.#stats.bytesIn > this.#limit) {
      this.stop();
      this.#events.onBodyTooLarge();
      return;
    }
    const paused = performance.now() - this.#pausedSince;
    this.#allowance = Math.min(graceMs, this.#allowance - paused + chunk.length * msPerByte);
    if (this.#send(chunk)) {
      this.#waitForClient();
      return;
    }
    this.#req.pause();
    this.#events.onBodyWaitsForTarget();
  };

  readonly #onEnd = (): void => {
    this.done = true;
    // Request trailers are dropped: they may contain fields that are not checked.
    if (this.#chunked) this.#socket.write('0\r\n\r\n');
    this.#connection.requestComplete();
    this.#events.onBodyWaitsForTarget();
  };

  #waitForClient(): void {
    this.#pausedSince = performance.now();
    this.#events.onBodyWaitsForClient(this.#idle === 0 ? 0 : Math.max(1, Math.min(this.#idle, this.#allowance)));
  }

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
