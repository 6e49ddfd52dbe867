import type { Socket } from 'node:net';
import type { Connection } from '../../http1/connection.ts';
import { deadlineIn, type Timed, unwatchDeadline, watchDeadline } from '../../http1/deadlines.ts';
import {
  type Adaptation,
  bodyTooLarge,
  type ExchangeStats,
  type Failure,
  type IncomingRequest,
  type Outbound,
  type WriteListener,
} from './outbound.ts';

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

/** Limits how long a client may pause within its body. */
export class PauseLimit {
  readonly #idle: number;
  // How long the client may still pause in total, ms.
  #allowance = graceMs;
  // When the current pause began, by `performance.now()`.
  #pausedSince = 0;

  /** `idle`: the longest pause, ms; 0: no limit. */
  constructor(idle: number) {
    this.#idle = idle;
  }

  onBytes(count: number): void {
    const pausedMs = performance.now() - this.#pausedSince;
    this.#allowance = Math.min(graceMs, this.#allowance - pausedMs + count * msPerByte);
  }

  /** A pause begins. @returns how long it may last, ms; 0: no limit */
  beginPause(): number {
    this.#pausedSince = performance.now();
    return this.#idle === 0 ? 0 : Math.max(1, Math.min(this.#idle, this.#allowance));
  }
}

/** Streams a request body to a target, with back-pressure, up to `bodyLimit` bytes. */
export class RequestBody {
  done = false;
  readonly #req: IncomingRequest;
  readonly #connection: Connection;
  readonly #chunked: boolean;
  readonly #limitBytes: number;
  readonly #events: BodyEvents;
  readonly #stats: ExchangeStats;
  readonly #pauseLimit: PauseLimit;
  #hasUnsentBytes = false;

  constructor(
    { req, hasChunkedBody, bodyLimit, bodyIdle, stats }: Outbound,
    connection: Connection,
    events: BodyEvents,
  ) {
    this.#req = req;
    this.#connection = connection;
    this.#chunked = hasChunkedBody;
    this.#limitBytes = bodyLimit;
    this.#pauseLimit = new PauseLimit(bodyIdle);
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
    if (this.#stats.bytesIn > this.#limitBytes) {
      this.stop();
      this.#events.onBodyTooLarge();
      return;
    }
    this.#pauseLimit.onBytes(chunk.length);
    this.#send(chunk);
    this.#hasUnsentBytes = this.#socket.writableLength > 0;
    if (this.#hasUnsentBytes) {
      // Not read until `chunk` is sent, because the next read would overwrite it.
      this.#req.pause();
      this.#events.onBodyWaitsForTarget();
    } else this.#waitForClient();
  };

  readonly #onWritten: WriteListener = (error) => {
    if (error || !this.#hasUnsentBytes || this.done || this.#socket.writableLength > 0) return;
    this.#hasUnsentBytes = false;
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
    this.#events.onBodyWaitsForClient(this.#pauseLimit.beginPause());
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

/** Collects a whole request body and adapts it, before the request is sent. */
export class CollectedBody implements Timed {
  deadline = Number.POSITIVE_INFINITY;
  readonly #outbound: Outbound;
  readonly #adaptation: Adaptation;
  readonly #onDone: (failure: Failure | undefined) => void;
  readonly #pauseLimit: PauseLimit;
  #chunks: Buffer[] = [];
  #size = 0;
  #isReading = false;
  #isStopped = false;

  constructor(outbound: Outbound, adaptation: Adaptation, onDone: (failure: Failure | undefined) => void) {
    this.#outbound = outbound;
    this.#adaptation = adaptation;
    this.#onDone = onDone;
    this.#pauseLimit = new PauseLimit(outbound.bodyIdle);
  }

  start(): void {
    const { req, res, hasBody, expectsContinue } = this.#outbound;
    if (!hasBody || req.wholeBody !== undefined) {
      this.#adapt(Buffer.from(req.wholeBody ?? '', 'latin1'));
      return;
    }
    if (expectsContinue) res.writeContinue();
    this.#isReading = true;
    watchDeadline(this);
    this.#waitForClient();
    req.on('data', this.#onData).on('end', this.#onEnd);
  }

  /** The exchange has ended: discards the rest of the body. Safe to call twice. */
  stop(): void {
    this.#isStopped = true;
    if (!this.#isReading) return;
    const { req } = this.#outbound;
    this.#stopReading();
    req.resume();
  }

  onDeadline(): void {
    this.#fail({ code: 'REQUEST_TIMED_OUT', fault: 'client', cause: 'the client paused within the body' });
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#size += chunk.length;
    const outcome = this.#size > this.#outbound.bodyLimit ? bodyTooLarge : this.#adaptation.reserveMemory(chunk.length);
    // Only the body of a response can have the outcome `pass`.
    const failure = outcome === 'pass' ? undefined : outcome;
    if (failure) {
      this.#fail(failure);
      return;
    }
    // Copied, because the next read may overwrite `chunk`.
    this.#chunks.push(Buffer.from(chunk));
    this.#pauseLimit.onBytes(chunk.length);
    this.#waitForClient();
  };

  readonly #onEnd = (): void => {
    this.#stopReading();
    this.#outbound.stats.collectedBytes = this.#size;
    this.#adapt(Buffer.concat(this.#chunks));
  };

  #adapt(body: Buffer): void {
    this.#chunks = [];
    const result = this.#adaptation.adaptRequestBody(body);
    if (!(result instanceof Promise)) this.#onDone(result);
    else {
      void result.then((failure) => {
        if (!this.#isStopped) this.#onDone(failure);
      });
    }
  }

  #fail(failure: Failure): void {
    this.stop();
    this.#onDone(failure);
  }

  #waitForClient(): void {
    // 0 means no limit in both functions.
    this.deadline = deadlineIn(this.#pauseLimit.beginPause());
  }

  #stopReading(): void {
    this.#isReading = false;
    unwatchDeadline(this);
    this.#outbound.req.off('data', this.#onData).off('end', this.#onEnd);
  }
}
