import type { Socket } from 'node:net';
import type { Connection } from '../http1/connection.ts';
import type { ExchangeStats, IncomingRequest, Outbound, WriteListener } from './outbound.ts';

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
  #unsent = false;

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
    this.#send(chunk);
    this.#unsent = this.#socket.writableLength > 0;
    if (this.#unsent) {
      // Until then, `chunk` must not be overwritten.
      this.#req.pause();
      this.#events.onBodyWaitsForTarget();
    } else this.#waitForClient();
  };

  readonly #onWritten: WriteListener = (error) => {
    if (error || !this.#unsent || this.done || this.#socket.writableLength > 0) return;
    this.#unsent = false;
    this.#waitForClient();
    this.#req.resume();
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

  #send(chunk: Buffer): void {
    const socket = this.#socket;
    if (!this.#chunked) {
      socket.write(chunk, this.#onWritten);
      return;
    }
    socket.cork();
    socket.write(`${chunk.length.toString(16)}\r\n`);
    socket.write(chunk);
    socket.write('\r\n', this.#onWritten);
    socket.uncork();
  }
}
