import type { Socket } from 'node:net';
import { deadlineIn, unwatchDeadline, watchDeadline } from '../../http1/deadlines.ts';
import type { ResponseHead } from '../../http1/responseHead.ts';
import { lingerOnClose } from './lingering.ts';
import type { Adaptation, Failure, Outbound, OutgoingResponse, WriteListener } from './outbound.ts';
import { renderHead } from './renderedHead.ts';
import { forwardableTrailers, interimHead, responseFields } from './responseFields.ts';

interface ResponseEvents {
  /** Called after `write` returned false, once the kernel has accepted all that was written. */
  onDrain(): void;
}

/** Writes the response of a target to the client. */
export class ClientResponse {
  /** The head is sent: no other answer is possible. */
  started = false;
  /** A stream of events without Content-Length: it ends only when one side disconnects. */
  endless = false;
  /** How long the target may pause within the body, ms; 0: no limit. */
  idleTimeout = 0;
  readonly #outbound: Outbound;
  readonly #events: ResponseEvents;
  #hasUnsentBytes = false;
  /** Set by the first `write`. Most responses are sent whole and need no listener. */
  #onWritten: WriteListener | undefined;

  constructor(outbound: Outbound, events: ResponseEvents) {
    this.#outbound = outbound;
    this.#events = events;
  }

  /** Sends a 1xx, but not to HTTP/1.0 (RFC 9110 §15.2). A 100 is dropped, because the gateway itself answers `Expect`. */
  sendInformation(head: ResponseHead): void {
    const { req, res } = this.#outbound;
    if (head.status === 100 || req.httpVersion === '1.0') return;
    const plan = { ...this.#outbound.responsePlan(), lifecycle: undefined, cacheVariation: undefined, hsts: false };
    const fields = responseFields(head, plan);
    if (res.writeInformation) res.writeInformation(head.status, fields);
    else res._writeRaw?.(interimHead(head.status, fields), 'latin1');
  }

  /** Sends a response that arrived as a whole. `bodyUnread`: the client is still sending its body. */
  sendComplete(head: ResponseHead, body: string, bodyUnread: boolean): void {
    const { observer } = this.#outbound;
    if (observer !== undefined) {
      // The observer is called first, because the exchange may be closed while the response is sent.
      observer.onHead(head);
      observer.onBody(body);
      observer.onComplete();
    }
    this.#writeHead(head, bodyUnread);
    this.#outbound.stats.bytesOut += body.length;
    this.#outbound.res.end(body, 'latin1');
    this.#destroyUnlessRead();
  }

  start(head: ResponseHead, bodyUnread: boolean): void {
    this.#outbound.observer?.onHead(head);
    const { streamIdle, idle } = this.#outbound.timeouts;
    const isStream = isEventStream(head);
    // If a response with Content-Length ended early, it would be incomplete.
    this.endless = isStream && head.contentLength < 0;
    this.#outbound.stats.streamed = isStream;
    this.idleTimeout = isStream ? streamIdle : idle;
    this.#writeHead(head, bodyUnread);
    // An empty write sends the head now, as latin1; flushHeaders() would use UTF-8.
    this.#outbound.res.write('', 'latin1');
  }

  /** False if the kernel has not accepted all of it, because the client reads too slowly: wait for `onDrain`. */
  write(chunk: Buffer): boolean {
    const { res, stats, observer } = this.#outbound;
    stats.bytesOut += chunk.length;
    observer?.onBody(chunk);
    this.#onWritten ??= (error) => this.#written(error);
    res.write(chunk, this.#onWritten);
    this.#hasUnsentBytes = res.writableLength > 0;
    return !this.#hasUnsentBytes;
  }

  end(trailers: readonly string[]): void {
    const { res, req, observer } = this.#outbound;
    observer?.onComplete();
    if (trailers.length > 0 && req.httpVersion !== '1.0') res.addTrailers(forwardableTrailers(trailers));
    res.end();
    this.#destroyUnlessRead();
  }

  /** Ends an incomplete response so that the client notices (RFC 9112 §8). */
  abort(failure: Failure): void {
    const { res, req, stats } = this.#outbound;
    stats.failure = failure;
    // In HTTP/1.0 a closed connection may mean a complete body. Only a reset shows that it is incomplete.
    if (req.httpVersion === '1.0' && res.socket) reset(res.socket);
    else res.destroy();
  }

  #writeHead(head: ResponseHead, bodyUnread: boolean): void {
    const { res, isGatewayStopping } = this.#outbound;
    const plan = this.#outbound.responsePlan();
    if (isGatewayStopping) res.shouldKeepAlive = false;
    this.started = true;
    const rendered = res.writeRendered && !bodyUnread ? renderHead(head, plan) : undefined;
    if (rendered) {
      // The links differ by path, so a rendered head does not contain them.
      res.writeRendered?.(rendered, plan.lifecycle?.links ?? []);
      return;
    }
    const fields = responseFields(head, plan);
    if (bodyUnread) {
      fields.push('Connection', 'close');
      lingerOnClose(res.socket);
    }
    res.writeHead(head.status, head.reason, fields);
  }

  #written(error: Parameters<WriteListener>[0]): void {
    if (error || !this.#hasUnsentBytes || this.#outbound.res.writableLength > 0) return;
    this.#hasUnsentBytes = false;
    this.#events.onDrain();
  }

  /**
   * The rest of the response is in memory. The client has `write_idle` to read all of it. In HTTP/2, `ClientSession` watches
   * this.
   */
  #destroyUnlessRead(): void {
    const { res, timeouts } = this.#outbound;
    if (res.writableFinished || (res.socket?.writableLength ?? 0) === 0) return;
    if (res.setUnsentTimeout) res.setUnsentTimeout(timeouts.writeIdle);
    else destroyAfter(res, timeouts.writeIdle);
  }
}

// A body up to this size is sent with its head, in one write.
const maxWholeBodyBytes = 16 * 1024;

/** Adapts the response of a target and writes it to the client. It has the methods of `ClientResponse`. */
export class AdaptingResponse {
  readonly #outbound: Outbound;
  readonly #adaptation: Adaptation;
  readonly #response: ClientResponse;
  readonly #fail: (failure: Failure) => void;
  /** Set while the body is collected. */
  #head: ResponseHead | undefined;
  #bodyUnread = false;
  #chunks: Buffer[] = [];
  #idleTimeout = 0;

  /** `fail`: ends the exchange while the target still sends. After a complete response, `outbound.onFailure` ends it. */
  constructor(outbound: Outbound, adaptation: Adaptation, events: ResponseEvents, fail: (failure: Failure) => void) {
    this.#outbound = outbound;
    this.#adaptation = adaptation;
    this.#response = new ClientResponse(outbound, events);
    this.#fail = fail;
  }

  get started(): boolean {
    return this.#response.started;
  }

  get endless(): boolean {
    return this.#response.endless;
  }

  get idleTimeout(): number {
    return this.#head ? this.#idleTimeout : this.#response.idleTimeout;
  }

  sendInformation(head: ResponseHead): void {
    this.#response.sendInformation(this.#adaptation.adaptHead(head));
  }

  sendComplete(head: ResponseHead, body: string, bodyUnread: boolean): void {
    const handlingOrFailure = this.#adaptation.bodyHandling(head);
    if (handlingOrFailure === 'pass') this.#response.sendComplete(this.#adaptation.adaptHead(head), body, bodyUnread);
    else if (handlingOrFailure === 'whole') {
      const refusal = this.#adaptation.reserveMemory(body.length);
      // `pass`: the body cannot be kept in memory to be changed, and may be sent unchanged.
      if (refusal === 'pass') this.#response.sendComplete(this.#adaptation.adaptHead(head), body, bodyUnread);
      else if (refusal) this.#outbound.onFailure(refusal);
      else this.#adapt(head, body, bodyUnread);
    } else this.#outbound.onFailure(handlingOrFailure);
  }

  start(head: ResponseHead, bodyUnread: boolean): void {
    const handlingOrFailure = this.#adaptation.bodyHandling(head);
    if (handlingOrFailure === 'pass') this.#response.start(this.#adaptation.adaptHead(head), bodyUnread);
    else if (handlingOrFailure === 'whole') {
      this.#head = head;
      this.#bodyUnread = bodyUnread;
      this.#idleTimeout = this.#outbound.timeouts.idle;
    } else this.#fail(handlingOrFailure);
  }

  write(chunk: Buffer): boolean {
    if (!this.#head) return this.#response.write(chunk);
    const refusal = this.#adaptation.reserveMemory(chunk.length);
    if (refusal === 'pass') return this.#passOn(this.#head, chunk);
    // Copied, because the next read may overwrite `chunk`.
    if (!refusal) this.#chunks.push(Buffer.from(chunk));
    else this.#fail(refusal);
    return true;
  }

  end(trailers: readonly string[]): void {
    if (!this.#head) {
      this.#response.end(trailers);
      return;
    }
    const [first = Buffer.alloc(0), ...others] = this.#chunks;
    this.#chunks = [];
    // The trailers are dropped: the adapted body has a length, so none can follow it.
    this.#adapt(this.#head, others.length === 0 ? first : Buffer.concat([first, ...others]), this.#bodyUnread);
  }

  abort(failure: Failure): void {
    this.#response.abort(failure);
  }

  /** Sends what was collected. The rest is sent as it arrives. */
  #passOn(head: ResponseHead, chunk: Buffer): boolean {
    const chunks = this.#chunks;
    this.#head = undefined;
    this.#chunks = [];
    this.#response.start(this.#adaptation.adaptHead(head), this.#bodyUnread);
    for (const collected of chunks) this.#response.write(collected);
    return this.#response.write(chunk);
  }

  #adapt(head: ResponseHead, body: Buffer | string, bodyUnread: boolean): void {
    const result = this.#adaptation.adaptBody(head, body);
    if (!(result instanceof Promise)) this.#send(head, result, bodyUnread);
    else {
      result
        .then((adapted) => this.#send(head, adapted, bodyUnread))
        // An error ends only this exchange.
        .catch(() => this.#outbound.res.destroy());
    }
  }

  #send(head: ResponseHead, result: Buffer | string | Failure, bodyUnread: boolean): void {
    const { res } = this.#outbound;
    // The client has left, or the gateway has answered meanwhile.
    if (res.destroyed || res.headersSent) return;
    if (typeof result !== 'string' && !Buffer.isBuffer(result)) {
      this.#outbound.onFailure(result);
      return;
    }
    const adaptedHead = this.#adaptation.adaptHead(head, result.length);
    if (result.length <= maxWholeBodyBytes) {
      const text = typeof result === 'string' ? result : result.toString('latin1');
      this.#response.sendComplete(adaptedHead, text, bodyUnread);
      return;
    }
    this.#response.start(adaptedHead, bodyUnread);
    this.#response.write(typeof result === 'string' ? Buffer.from(result, 'latin1') : result);
    this.#response.end([]);
  }
}

/** Only plain TCP can be reset. TLS detects a truncation by itself. */
function reset(socket: Socket): void {
  if ('encrypted' in socket || socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

function destroyAfter(res: OutgoingResponse, ms: number): void {
  const timed = { deadline: deadlineIn(ms), onDeadline: () => void res.destroy() };
  watchDeadline(timed);
  res.once('close', () => unwatchDeadline(timed));
}

function isEventStream({ names, fields }: ResponseHead): boolean {
  const at = names.indexOf('content-type');
  return at !== -1 && /^text\/event-stream\b/i.test(fields[at * 2 + 1] as string);
}
