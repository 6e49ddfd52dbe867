import type { Connection } from '../http1/connection.ts';
import type { ResponseHandler, WireFailure } from '../http1/handler.ts';
import type { ResponseHead } from '../http1/responseHead.ts';
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
    this.#response = new ClientResponse(outbound, () => {
      if (this.#over) return;
      this.#waitFor('target', this.#idle);
      this.#connection.socket.resume();
    });
  }

  start(): void {
    const { connections } = this.#outbound.target;
    this.#send(connections.reuse() ?? connections.connect(this.#outbound.timeouts.connect));
  }

  /** The client has left, or the gateway is done with it. Safe to call twice. */
  abort(): void {
    if (this.#over) return;
    this.#finish();
    this.#connection.destroy();
  }

  onConnected(): void {
    const { req, res, hasBody, bodyLimit, bodyIdle, expectsContinue } = this.#outbound;
    // Not a byte of the body is taken before a target is there for it: until then another one may be tried.
    if (!hasBody || this.#body) return;
    if (expectsContinue) res.writeContinue();
    this.#body = new RequestBody(req, this.#connection, bodyLimit, bodyIdle, this);
  }

  onBodyWaitsForClient(ms: number): void {
    if (!this.#response.begun) this.#waitFor('client', ms);
  }

  onBodyWaitsForTarget(): void {
    if (!this.#response.begun) this.#waitFor('target', this.#outbound.timeouts.firstByte);
  }

  onBodyTooLarge(): void {
    this.#fail({ code: 'BODY_TOO_LARGE', fault: 'client', requestSent: true, cause: 'over limits.body' });
  }

  onDrain(): void {
    this.#body?.onDrain();
  }

  onInformation(head: ResponseHead): void {
    this.#response.inform(head);
  }

  onWhole(head: ResponseHead, body: string): void {
    if (this.#over) return;
    this.#response.whole(head, body, this.#body?.done === false);
    this.#finish();
  }

  onHead(head: ResponseHead): void {
    if (this.#over) return;
    if (head.status !== 101) this.#begin(head);
    else if (this.#outbound.upgrade) openTunnel(this.#outbound, this.#connection, head, () => this.#finish());
    else this.onFailure({ kind: 'malformed', cause: 'a 101 that nobody asked for' });
  }

  onData(chunk: Buffer): boolean {
    if (this.#over) return false;
    if (this.#response.write(chunk)) return true;
    this.#waitFor('client', this.#outbound.timeouts.writeIdle);
    return false;
  }

  onEnd(trailers: readonly string[]): void {
    if (this.#over) return;
    this.#response.end(trailers);
    this.#finish();
  }

  onFailure(failure: WireFailure): void {
    if (this.#over) return;
    const { attempts, method, hasBody } = this.#outbound;
    const attempt = { method, hasBody, bodyBegun: this.#body !== undefined, connection: this.#connection };
    if (this.#attempts < attempts && !this.#response.begun && mayTryAgain(failure.kind, attempt)) {
      this.#outbound.target.inFlight -= 1;
      if (failure.kind !== 'lost') this.#outbound.chooseAgain();
      this.#send(this.#outbound.target.connections.connect(this.#outbound.timeouts.connect));
    } else {
      this.#fail(classify(failure, this.#waited));
    }
  }

  #waitFor(waited: Waited, ms: number): void {
    this.#waited = waited;
    this.#connection.expect(ms);
  }

  #send(connection: Connection): void {
    const { target, head, hasBody, method, timeouts } = this.#outbound;
    target.inFlight += 1;
    this.#attempts += 1;
    this.#connection = connection;
    connection.send(this, head, !hasBody, method !== 'HEAD', timeouts.firstByte);
  }

  #begin(head: ResponseHead): void {
    const { streamIdle, idle } = this.#outbound.timeouts;
    this.#response.begin(head, this.#body?.done === false);
    this.#idle = isEventStream(head) ? streamIdle : idle;
    this.#waitFor('target', this.#idle);
  }

  #fail(failure: Failure): void {
    this.#finish();
    this.#connection.destroy();
    if (!this.#response.begun) this.#outbound.onFailure(failure);
    else this.#response.breakOff();
  }

  #finish(): void {
    this.#body?.stop();
    this.#over = true;
    this.#outbound.target.inFlight -= 1;
  }
}
