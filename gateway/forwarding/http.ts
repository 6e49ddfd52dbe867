import type { Connection } from '../http1/connection.ts';
import { after, unwatch, watch } from '../http1/deadlines.ts';
import { lowerCased } from '../http1/fieldName.ts';
import type { ResponseHandler, WireFailure } from '../http1/handler.ts';
import type { ResponseHead } from '../http1/responseHead.ts';
import { classify, type Failure, type Waited } from './failure.ts';
import { lingerAfter } from './lingering.ts';
import type { Outbound } from './outbound.ts';
import { RequestBody } from './requestBody.ts';
import { responseFields } from './responseFields.ts';
import { forwardableTrailers } from './trailers.ts';
import { Tunnel } from './upgrade.ts';

// 1  head   client ──► gateway ──► target    `start`, again by `#mayTryAgain`
// 2  body   client ──► gateway ──► target    RequestBody, while 3 and 4 may run already
// 3  head   client ◄── gateway ◄── target    `onInformation`…, then `onHead` or `onWhole`
// 4  body   client ◄── gateway ◄── target    `onData`…, then `onEnd`
/** Carries one exchange between a client and a target. */
export class Forwarding implements ResponseHandler {
  readonly #outbound: Outbound;
  // How long the target may pause within its response, ms.
  #idle = 0;
  #connection: Connection | undefined;
  #attempts = 0;
  #body: RequestBody | undefined;
  #waited: Waited = 'target';
  #tunnel: Tunnel | undefined;
  #answering = false;
  #listensForDrain = false;
  #over = false;

  constructor(outbound: Outbound) {
    this.#outbound = outbound;
  }

  start(): void {
    const { target, timeouts } = this.#outbound;
    target.inFlight += 1;
    this.#send(target.connections.reuse() ?? target.connections.connect(timeouts.connect));
  }

  /** The client has left, or the gateway is done with it. Safe to call twice. */
  abort(): void {
    if (this.#over) return;
    this.#finish();
    this.#connection?.destroy();
    this.#tunnel?.close();
  }

  onConnected(): void {
    const { req, res, hasBody, bodyLimit, expectsContinue } = this.#outbound;
    // Not a byte of the body is taken before a target is there for it: until then another one may be tried.
    if (!hasBody || this.#body || !this.#connection) return;
    if (expectsContinue) res.writeContinue();
    this.#body = new RequestBody(req, this.#connection, bodyLimit, this);
  }

  onBodyWaits(waited: Waited): void {
    const { timeouts, bodyIdle } = this.#outbound;
    if (this.#answering) return;
    this.#waited = waited;
    this.#connection?.expect(waited === 'client' ? bodyIdle : timeouts.firstByte);
  }

  onBodySent(): void {
    this.onBodyWaits('target');
  }

  onBodyTooLarge(): void {
    this.#connection?.destroy();
    this.#fail({ code: 'BODY_TOO_LARGE', fault: 'client', requestSent: true, cause: 'over limits.body' });
  }

  onDrain(): void {
    this.#body?.onDrain();
    this.#tunnel?.onTargetDrain();
  }

  onInformation(head: ResponseHead): void {
    const { req, res } = this.#outbound;
    // We answered `Expect` ourselves, and HTTP/1.0 knows no interim responses (RFC 9110 §15.2).
    if (this.#over || head.status === 100 || req.httpVersionMinor === 0) return;
    res.writeInformation(head.status, responseFields(head, { ...this.#outbound.responsePlan(), lifecycle: undefined }));
  }

  onWhole(head: ResponseHead, body: string): void {
    if (this.#over) return;
    this.#sendHead(head);
    this.#outbound.res.end(body, 'latin1');
    this.#stop();
  }

  onHead(head: ResponseHead): void {
    if (this.#over) return;
    if (head.status === 101) {
      this.#switch(head);
      return;
    }
    const { res, timeouts } = this.#outbound;
    this.#sendHead(head);
    // An empty write sends the head now, as latin1, which flushHeaders() would not.
    res.write('', 'latin1');
    this.#idle = isEventStream(head) ? timeouts.streamIdle : timeouts.idle;
    this.#connection?.expect(this.#idle);
  }

  onData(chunk: Buffer): boolean {
    if (this.#over) return false;
    if (this.#tunnel) return this.#tunnel.fromTarget(chunk);
    const { res, timeouts } = this.#outbound;
    if (res.write(chunk)) return true;
    if (!this.#listensForDrain) res.on('drain', this.#onClientDrain);
    this.#listensForDrain = true;
    this.#waited = 'client';
    this.#connection?.expect(timeouts.writeIdle);
    return false;
  }

  onEnd(trailers: readonly string[]): void {
    if (this.#over) return;
    if (this.#tunnel) {
      this.#tunnel.targetEnded();
      this.#finish();
      return;
    }
    const { res, req } = this.#outbound;
    if (trailers.length > 0 && req.httpVersionMinor === 1) res.addTrailers(forwardableTrailers(trailers));
    res.end();
    this.#stop();
  }

  onFailure(failure: WireFailure): void {
    if (this.#over) return;
    if (this.#mayTryAgain(failure)) {
      const { target, timeouts } = this.#outbound;
      this.#send(target.connections.connect(timeouts.connect));
      return;
    }
    this.#fail(classify(failure, this.#waited));
  }

  #send(connection: Connection): void {
    const { head, hasBody, method, timeouts } = this.#outbound;
    this.#attempts += 1;
    this.#connection = connection;
    connection.send(this, head, !hasBody, method !== 'HEAD', timeouts.firstByte);
  }

  /**
   * Only where a second try cannot do a thing twice: nothing was sent, or a kept connection was closed behind our back
   * before it answered a safe request (RFC 9112 §9.3.1). A body that was begun is gone.
   */
  #mayTryAgain({ kind }: WireFailure): boolean {
    const { attempts, method, hasBody } = this.#outbound;
    if (this.#attempts >= attempts || this.#body || this.#answering) return false;
    if (kind === 'unreachable') return true;
    const connection = this.#connection;
    const stale = kind === 'lost' && connection !== undefined && connection.served > 0 && !connection.heard;
    return stale && !hasBody && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS');
  }

  #sendHead(head: ResponseHead): void {
    const { req, res } = this.#outbound;
    const fields = responseFields(head, this.#outbound.responsePlan());
    this.#answering = true;
    if (this.#body && !this.#body.done) {
      fields.push('Connection', 'close');
      lingerAfter(req, res);
    }
    res.writeHead(head.status, head.reason, fields);
  }

  #switch(head: ResponseHead): void {
    const { upgrade, timeouts } = this.#outbound;
    const connection = this.#connection;
    if (!upgrade || !connection) {
      connection?.destroy();
      this.#fail({
        code: 'TARGET_MALFORMED',
        fault: 'target',
        requestSent: true,
        cause: 'a 101 that nobody asked for',
      });
      return;
    }
    this.#answering = true;
    const fields = responseFields(head, this.#outbound.responsePlan());
    connection.expect(timeouts.streamIdle);
    this.#tunnel = new Tunnel(this.#outbound, connection, head, fields, () => {
      this.abort();
      this.#outbound.onTunnelClosed();
    });
  }

  /** The response is complete for us; the client may still have to read it. */
  #stop(): void {
    const { res, timeouts } = this.#outbound;
    if (this.#body && !this.#body.done) this.#body.stop();
    this.#finish();
    if (!res.writableFinished && (res.socket?.writableLength ?? 0) > 0)
      destroyUnlessRead(this.#outbound, timeouts.writeIdle);
  }

  #fail(failure: Failure): void {
    const { res } = this.#outbound;
    const answering = this.#answering;
    if (this.#body && !this.#body.done) this.#body.stop();
    this.#finish();
    if (!answering) {
      this.#outbound.onFailure(failure);
      return;
    }
    // The head has gone out: all that is left is not to end it cleanly. Without a length only a reset says so.
    if (this.#tunnel) this.#tunnel.close();
    else if (res.req.httpVersionMinor === 0) res.socket?.resetAndDestroy();
    else res.destroy();
  }

  #finish(): void {
    this.#over = true;
    this.#outbound.target.inFlight -= 1;
  }

  readonly #onClientDrain = (): void => {
    if (this.#over) return;
    this.#waited = 'target';
    this.#connection?.expect(this.#idle);
    this.#connection?.resume();
  };
}

function isEventStream({ fields }: ResponseHead): boolean {
  for (let at = 0; at < fields.length; at += 2) {
    if (lowerCased(fields[at] as string) === 'content-type')
      return /^text\/event-stream\b/i.test(fields[at + 1] as string);
  }
  return false;
}

/** A response is all in our hands, and its client does not take it: it may for `ms` more. */
function destroyUnlessRead({ res }: Outbound, ms: number): void {
  const waiting = { deadline: after(ms), onDeadline: () => void res.destroy() };
  watch(waiting);
  res.once('close', () => unwatch(waiting));
}
