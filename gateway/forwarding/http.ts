import type { ResponseHandler, WireFailure } from '../http1/responseHandler.ts';
import type { ResponseHead } from '../http1/responseHead.ts';
import { Attempts } from './attempts.ts';
import { ClientResponse } from './clientResponse.ts';
import { bodyTooLarge, classify, cutOff, type Failure, type Waited } from './failure.ts';
import type { Outbound } from './outbound.ts';
import { RequestBody } from './requestBody.ts';
import { openTunnel, type Tunnel } from './tunnel.ts';

// 1  head   client ──► gateway ──► target    `start`, and again where Attempts may
// 2  body   client ──► gateway ──► target    RequestBody, while 3 and 4 may run already
// 3  head   client ◄── gateway ◄── target    `onInformation`…, then `onHead` or `onWhole`
// 4  body   client ◄── gateway ◄── target    `onData`…, then `onEnd`
/** Carries one exchange between a client and a target. */
export class Forwarding implements ResponseHandler {
  readonly #outbound: Outbound;
  readonly #response: ClientResponse;
  readonly #attempts: Attempts;
  #body: RequestBody | undefined;
  // Who has to move next: whose fault it is when nobody does.
  #waited: Waited = 'target';
  #over = false;
  #tunnel: Tunnel | undefined;
  #goingAway = false;

  constructor(outbound: Outbound) {
    this.#outbound = outbound;
    this.#attempts = new Attempts(outbound, this);
    this.#response = new ClientResponse(outbound, () => {
      if (this.#over) return;
      this.#waitFor('target', this.#response.pause);
      this.#attempts.connection.socket.resume();
    });
  }

  start(): void {
    this.#attempts.first();
  }

  /** The client has left, or the gateway is done with it. Safe to call twice. */
  abort(): void {
    if (this.#over) return;
    this.#finish();
    this.#attempts.connection.destroy();
  }

  /** Its version is no longer wanted: what would go on for ever ends now, in good order. Safe to call twice. */
  goAway(): void {
    this.#goingAway = true;
    this.#tunnel?.goAway();
    if (!this.#response.endless || this.#over) return;
    this.#response.end([]);
    this.abort();
  }

  /** It has had its time to finish. */
  cut(): void {
    if (this.#tunnel) this.#tunnel.cut();
    else if (!this.#over) this.#fail(cutOff);
  }

  onConnected(): void {
    const { res, hasBody, expectsContinue } = this.#outbound;
    this.#attempts.connected();
    // Not a byte of the body is taken before a target is there for it: until then another one may be tried.
    if (!hasBody || this.#body) return;
    if (expectsContinue) res.writeContinue();
    this.#body = new RequestBody(this.#outbound, this.#attempts.connection, this);
  }

  onBodyWaitsForClient(ms: number): void {
    if (!this.#response.begun) this.#waitFor('client', ms);
  }

  onBodyWaitsForTarget(): void {
    if (!this.#response.begun) this.#waitFor('target', this.#outbound.timeouts.firstByte);
  }

  onBodyTooLarge(): void {
    this.#fail(bodyTooLarge);
  }

  onDrain(): void {
    this.#body?.onDrain();
  }

  onInformation(head: ResponseHead): void {
    this.#response.inform(head);
  }

  onWhole(head: ResponseHead, body: string): void {
    if (this.#over) return;
    this.#attempts.answered();
    this.#response.whole(head, body, this.#body?.done === false);
    this.#finish();
  }

  onHead(head: ResponseHead): void {
    if (this.#over) return;
    this.#attempts.answered();
    if (head.status !== 101) this.#begin(head);
    else if (!this.#outbound.upgrade) this.onFailure({ kind: 'malformed', cause: 'a 101 that nobody asked for' });
    else this.#tunnel = openTunnel(this.#outbound, this.#attempts.connection, head, () => this.#finish());
    if (this.#goingAway) this.goAway();
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
    const classified = classify(failure, this.#waited);
    this.#attempts.failed(failure, classified.fault);
    if (this.#response.begun || !this.#attempts.again(failure.kind, this.#body !== undefined)) this.#fail(classified);
  }

  #waitFor(waited: Waited, ms: number): void {
    this.#waited = waited;
    this.#attempts.connection.expect(ms);
  }

  #begin(head: ResponseHead): void {
    this.#response.begin(head, this.#body?.done === false);
    this.#waitFor('target', this.#response.pause);
  }

  #fail(failure: Failure): void {
    this.#finish();
    this.#attempts.connection.destroy();
    if (!this.#response.begun) this.#outbound.onFailure(failure);
    else this.#response.breakOff(failure);
  }

  #finish(): void {
    this.#body?.stop();
    this.#over = true;
    this.#attempts.over();
  }
}
