import type { Request, RequestHandler, Response } from 'express';
import { sendProblem } from '../../problems/problem.ts';
import type { Clock } from '../../shared/clock.ts';

const mostStreams = 32;
const tick = 1_000;
/** An unchanged status is repeated after this time, so that a page notices a connection that died silently. */
const repeat = 5_000;
/** A reader that takes nothing is dropped at this many bytes, rather than kept in memory for. */
const mostUnread = 1_048_576;

export interface Watched {
  status(): Promise<object>;
  /** False once the gateway drains. */
  ready(): boolean;
  /** What lets in who opened a stream; undefined: nothing any more. */
  admits(req: Request): string | undefined;
  readonly clock: Clock;
}

/** `GET /api/events`: what `/api/status` says, whenever that changes, as server-sent events. */
export class StatusEvents {
  readonly #watched: Watched;
  readonly #streams = new Map<Response, Request>();
  #timer: NodeJS.Timeout | undefined;
  #asking = false;
  /** Somebody came who has heard nothing yet. */
  #isNew = false;
  #said = '';
  #saidAt = 0;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  readonly handle: RequestHandler = (req, res) => {
    // An image tag of another site could open streams, too, until none is left.
    if (req.headers['sec-fetch-site'] === 'cross-site') {
      sendProblem(res, 'FORBIDDEN', 'Streams are for pages of this origin.');
      return;
    }
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      res.set('Retry-After', '5');
      sendProblem(res, 'OVERLOADED', refusal);
      return;
    }
    res.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    res.write(`event: access\ndata: ${this.#watched.admits(req)}\n\n`);
    this.#streams.set(res, req);
    res.on('close', () => this.#leave(res));
    this.#timer ??= setInterval(() => void this.#look(), tick).unref();
    this.#isNew = true;
    void this.#look();
  };

  #refusal(): string | undefined {
    if (!this.#watched.ready()) return 'The gateway is starting or draining.';
    if (this.#streams.size >= mostStreams) return `There are ${mostStreams} streams already.`;
    return undefined;
  }

  async #look(): Promise<void> {
    for (const [res, req] of this.#streams)
      if (!this.#watched.ready() || this.#watched.admits(req) === undefined) res.end();
    // One question at a time: a worker that takes long to answer is not asked again meanwhile.
    if (this.#asking) return;
    this.#asking = true;
    const isNew = this.#isNew;
    this.#isNew = false;
    // Nothing is said while nothing is known: the reader's own patience then tells it.
    const said = await this.#watched.status().then(JSON.stringify, () => '');
    this.#asking = false;
    const now = this.#watched.clock.now();
    const news = isNew || said !== this.#said || Math.abs(now - this.#saidAt) >= repeat;
    if (news) [this.#said, this.#saidAt] = [said, now];
    this.#send(news && said !== '' ? `event: status\ndata: ${said}\n\n` : ': nothing new\n\n');
  }

  #send(text: string): void {
    for (const res of this.#streams.keys()) {
      if (res.writableEnded) continue;
      if (res.writableLength > mostUnread) res.destroy();
      else res.write(text);
    }
  }

  #leave(res: Response): void {
    this.#streams.delete(res);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
