import type { Connection } from '../http1/connection.ts';
import type { ResponseHandler, WireFailure } from '../http1/handler.ts';
import type { ResponseHead } from '../http1/responseHead.ts';
import type { ProblemCode } from '../problems/catalogue.ts';
import { ClientResponse, isEventStream } from './clientResponse.ts';
import { classify, type Failure, type Waited } from './failure.ts';
import type { Outbound } from './outbound.ts';
import { RequestBody } from './requestBody.ts';
import { mayTryAgain } from './retry.ts';
import { openTunnel } from './upgrade.ts';

// 1  head   client ──► gateway ──► target    `start`, and again where `mayTryAgain`
// 2  body   client ──► gateway ──► target    RequestBody, while 3 and 4 may run already
// 3  head   client ◄── gateway ◄── target    `onInformation`…, then `onHead` or `onWhole`
// 4  body   client ◄── gateway ◄── target    `onData`…, then `onEnd`
/** Carries one exchange between a client and a target. */
export class Forwarding implements ResponseHandler {
  readonly #outbound: Outbound;
  readonly #response: ClientResponse;
  #connection!: Connection;
  #attempts = 0;
  #body: RequestBody | undefined;
  // Who has to move next: whose fault it is when nobody does.
  #waited: Waited = 'target';
  // How long the target may pause within its response, ms.
  #idle = 0;
  #over = false;

  constructor(outbound: Outbound) {
    this.#outbound = outbound;
    this.#response = new ClientResponse(outbound, () => this.#onClientDrain());
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
    this.#connection.destroy();
  }

  onConnected(): void {
    const { req, res, hasBody, bodyLimit, expectsContinue } = this.#outbound;
    // Not a byte of the body is taken before a target is there for it: until then another one may be tried.
    if (!hasBody || this.#body) return;
    if (expectsContinue) res.writeContinue();
    this.#body = new RequestBody(req, this.#connection, bodyLimit, this);
  }

  onBodyWaits(waited: Waited): void {
    const { timeouts, bodyIdle } = this.#outbound;
    if (this.#response.begun) return;
    this.#waited = waited;
    this.#connection.expect(waited === 'client' ? bodyIdle : timeouts.firstByte);
  }

  onBodyTooLarge(): void {
    this.#giveUp('BODY_TOO_LARGE', 'client', 'over limits.body');
  }

  onDrain(): void {
    this.#body?.onDrain();
  }

  onInformation(head: ResponseHead): void {
    if (!this.#over) this.#response.inform(head);
  }

  onWhole(head: ResponseHead, body: string): void {
    if (this.#over) return;
    this.#response.whole(head, body, this.#bodyUnread);
    this.#finish();
  }

  onHead(head: ResponseHead): void {
    if (this.#over) return;
    if (head.status === 101) {
      this.#switch(head);
      return;
    }
    const { timeouts } = this.#outbound;
    this.#response.begin(head, this.#bodyUnread);
    this.#idle = isEventStream(head) ? timeouts.streamIdle : timeouts.idle;
    this.#waited = 'target';
    this.#connection.expect(this.#idle);
  }

  onData(chunk: Buffer): boolean {
    if (this.#over) return false;
    if (this.#response.write(chunk)) return true;
    this.#waited = 'client';
    this.#connection.expect(this.#outbound.timeouts.writeIdle);
    return false;
  }

  onEnd(trailers: readonly string[]): void {
    if (this.#over) return;
    this.#response.end(trailers);
    this.#finish();
  }

  onFailure(failure: WireFailure): void {
    if (this.#over) return;
    const { target, timeouts, attempts, method, hasBody } = this.#outbound;
    const attempt = { method, hasBody, bodyBegun: this.#body !== undefined, connection: this.#connection };
    if (this.#attempts < attempts && !this.#response.begun && mayTryAgain(failure.kind, attempt)) {
      this.#send(target.connections.connect(timeouts.connect));
    } else {
      this.#fail(classify(failure, this.#waited));
    }
  }

  get #bodyUnread(): boolean {
    return this.#body !== undefined && !this.#body.done;
  }

  #send(connection: Connection): void {
    const { head, hasBody, method, timeouts } = this.#outbound;
    this.#attempts += 1;
    this.#connection = connection;
    connection.send(this, head, !hasBody, method !== 'HEAD', timeouts.firstByte);
  }

  #switch(head: ResponseHead): void {
    if (this.#outbound.upgrade) openTunnel(this.#outbound, this.#connection, head, () => this.#finish());
    else this.#giveUp('TARGET_MALFORMED', 'target', 'a 101 that nobody asked for');
  }

  #giveUp(code: ProblemCode, fault: Failure['fault'], cause: string): void {
    this.#connection.destroy();
    this.#fail({ code, fault, requestSent: true, cause });
  }

  #fail(failure: Failure): void {
    this.#finish();
    if (!this.#response.begun) this.#outbound.onFailure(failure);
    else this.#response.breakOff();
  }

  #finish(): void {
    if (this.#bodyUnread) this.#body?.stop();
    this.#over = true;
    this.#outbound.target.inFlight -= 1;
  }

  #onClientDrain(): void {
    if (this.#over) return;
    this.#waited = 'target';
    this.#connection.expect(this.#idle);
    this.#connection.socket.resume();
  }
}
