import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { deadlineIn, unwatchDeadline, watchDeadline } from '../http1/deadlines.ts';
import type { ResponseHead } from '../http1/responseHead.ts';
import type { Failure } from './failure.ts';
import { lingerAfter } from './lingering.ts';
import type { Outbound } from './outbound.ts';
import { forwardableTrailers, responseFields } from './responseFields.ts';

/** The client's side of an exchange: what comes from the target goes out here. */
export class ClientResponse {
  /** The head is out: no other answer can be given. */
  begun = false;
  /** A stream that goes on for as long as nobody ends it. */
  endless = false;
  /** How long the target may be silent within it, ms; 0 for ever. */
  pause = 0;
  readonly #outbound: Outbound;
  readonly #onDrain: () => void;
  #listensForDrain = false;

  /** `onDrain`: the client has read, after `write` said that it lags. */
  constructor(outbound: Outbound, onDrain: () => void) {
    this.#outbound = outbound;
    this.#onDrain = onDrain;
  }

  /** RFC 9110 §15.2: to HTTP/1.1 only; a 100 is dropped, since `Expect` was answered by us. */
  inform(head: ResponseHead): void {
    const { req, res } = this.#outbound;
    if (head.status === 100 || req.httpVersionMinor === 0) return;
    const plan = { ...this.#outbound.responsePlan(), lifecycle: undefined, hsts: false };
    res.writeInformation(head.status, responseFields(head, plan));
  }

  /** `bodyUnread`: the client is still sending, and will not be listened to for long. */
  whole(head: ResponseHead, body: string, bodyUnread: boolean): void {
    this.#writeHead(head, bodyUnread);
    this.#outbound.stats.bytesOut += body.length;
    this.#outbound.res.end(body, 'latin1');
    this.#destroyUnlessRead();
  }

  begin(head: ResponseHead, bodyUnread: boolean): void {
    const { streamIdle, idle } = this.#outbound.timeouts;
    const events = isEventStream(head);
    // One whose length was said cannot be ended before.
    this.endless = events && head.contentLength < 0;
    this.#outbound.stats.streamed = events;
    this.pause = events ? streamIdle : idle;
    this.#writeHead(head, bodyUnread);
    // An empty write sends the head now, as latin1, which flushHeaders() would not.
    this.#outbound.res.write('', 'latin1');
  }

  /** False when the client does not keep up: `onDrain` follows. */
  write(chunk: Buffer): boolean {
    const { res, stats } = this.#outbound;
    stats.bytesOut += chunk.length;
    if (res.write(chunk)) return true;
    if (!this.#listensForDrain) res.on('drain', this.#onDrain);
    this.#listensForDrain = true;
    return false;
  }

  end(trailers: readonly string[]): void {
    const { res, req } = this.#outbound;
    if (trailers.length > 0 && req.httpVersionMinor === 1) res.addTrailers(forwardableTrailers(trailers));
    res.end();
    this.#destroyUnlessRead();
  }

  /** The rest will never come, and the client must not take what it has for the whole (RFC 9112 §8). */
  breakOff(failure: Failure): void {
    const { res, req, stats } = this.#outbound;
    stats.failure = failure;
    // To HTTP/1.0 the end of the connection is the end of the body: only a reset tells them apart.
    if (req.httpVersionMinor === 0 && res.socket) reset(res.socket);
    else res.destroy();
  }

  #writeHead(head: ResponseHead, bodyUnread: boolean): void {
    const { res, closing } = this.#outbound;
    const fields = responseFields(head, this.#outbound.responsePlan());
    if (closing) res.shouldKeepAlive = false;
    if (bodyUnread) {
      fields.push('Connection', 'close');
      lingerAfter(res);
    }
    res.writeHead(head.status, head.reason, fields);
    this.begun = true;
  }

  /** The response is all in our hands, and what is left of it is short: the client has `write_idle` for all of it. */
  #destroyUnlessRead(): void {
    const { res, timeouts } = this.#outbound;
    if (res.writableFinished || (res.socket?.writableLength ?? 0) === 0) return;
    watchClient(res, timeouts.writeIdle);
  }
}

/** Only plain TCP can be reset; TLS says by itself that its end was none. */
function reset(socket: Socket): void {
  if ('encrypted' in socket || socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

function watchClient(res: ServerResponse, ms: number): void {
  const waiting = { deadline: deadlineIn(ms), onDeadline: () => void res.destroy() };
  watchDeadline(waiting);
  res.once('close', () => unwatchDeadline(waiting));
}

/** A stream of events may be silent for as long as nothing happens. */
function isEventStream({ names, fields }: ResponseHead): boolean {
  const at = names.indexOf('content-type');
  return at !== -1 && /^text\/event-stream\b/i.test(fields[at * 2 + 1] as string);
}
