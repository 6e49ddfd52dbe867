import type { Request, RequestHandler, Response } from 'express';
import { sendProblem } from '../../problems/problem.ts';
import type { Clock } from '../../shared/clock.ts';

const maxStreams = 32;
const pollMs = 1_000;
/** An unchanged status is repeated after this time, so that the page detects a dead connection. */
const repeatMs = 5_000;
/** Fields that every heartbeat of a fleet changes. A status that differs only in these counts as unchanged. */
const heartbeatTimes = new Set(['now', 'heard', 'clock_skew_ms']);
/** A client that does not read is disconnected at this many unread bytes. */
const maxUnreadBytes = 1_048_576;

export interface WatchedGateway {
  status(): Promise<object>;
  /** False once the gateway drains. */
  ready(): boolean;
  /** How the request that opened a stream is authorized; undefined if it no longer is. */
  admits(req: Request): string | undefined;
  readonly clock: Clock;
}

/** `GET /api/events`: the body of `/api/status` as server-sent events, whenever it changes. */
export class StatusEvents {
  readonly #gateway: WatchedGateway;
  readonly #streams = new Map<Response, Request>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;
  /** True if a stream was opened since the last event. */
  #hasNewStream = false;
  /** The last status that was sent, without the fields in `heartbeatTimes`. */
  #lastStatus = '';
  #lastSentAt = 0;

  constructor(gateway: WatchedGateway) {
    this.#gateway = gateway;
  }

  readonly handle: RequestHandler = (req, res) => {
    // An image of another site could otherwise open streams up to the limit.
    if (req.headers['sec-fetch-site'] === 'cross-site') {
      sendProblem(res, 'FORBIDDEN', 'Event streams are only for pages of this origin.');
      return;
    }
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      res.set('Retry-After', '5');
      sendProblem(res, 'OVERLOADED', refusal);
      return;
    }
    res.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    res.write(`event: access\ndata: ${this.#gateway.admits(req)}\n\n`);
    this.#streams.set(res, req);
    res.on('close', () => this.#remove(res));
    this.#timer ??= setInterval(() => void this.#poll(), pollMs).unref();
    this.#hasNewStream = true;
    void this.#poll();
  };

  #refusal(): string | undefined {
    if (!this.#gateway.ready()) return 'The gateway is starting or draining.';
    if (this.#streams.size >= maxStreams) return `There are ${maxStreams} streams already.`;
    return undefined;
  }

  async #poll(): Promise<void> {
    for (const [res, req] of this.#streams)
      if (!this.#gateway.ready() || this.#gateway.admits(req) === undefined) res.end();
    // One request for the status at a time, in case a worker is slow to answer.
    if (this.#isPolling) return;
    this.#isPolling = true;
    const hasNewStream = this.#hasNewStream;
    this.#hasNewStream = false;
    // Without a status no event is sent, and the page reports after a while that the gateway does not answer.
    const status = await this.#gateway.status().catch(() => undefined);
    this.#isPolling = false;
    const now = this.#gateway.clock.now();
    const compared = JSON.stringify(status, (key, value) => (heartbeatTimes.has(key) ? undefined : value)) ?? '';
    const isDue = hasNewStream || compared !== this.#lastStatus || Math.abs(now - this.#lastSentAt) >= repeatMs;
    if (isDue) [this.#lastStatus, this.#lastSentAt] = [compared, now];
    this.#send(isDue && status ? `event: status\ndata: ${JSON.stringify(status)}\n\n` : ': nothing new\n\n');
  }

  #send(text: string): void {
    for (const res of this.#streams.keys()) {
      if (res.writableEnded) continue;
      if (res.writableLength > maxUnreadBytes) res.destroy();
      else res.write(text);
    }
  }

  #remove(res: Response): void {
    this.#streams.delete(res);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
