import type { ResponseHead } from '../../http1/responseHead.ts';
import type { ResponseHandler, WireFailure } from '../../http1/responseReader.ts';
import { Attempts } from './attempts.ts';
import { AdaptingResponse, ClientResponse } from './clientResponse.ts';
import { type AwaitedParty, bodyTooLarge, cutOff, type Failure, forwardingFailure, type Outbound } from './outbound.ts';
import { CollectedBody, RequestBody } from './requestBody.ts';
import { openTunnel, type Tunnel } from './tunnel.ts';

// 1  head   client ──► gateway ──► target    `start`, and each retry of Attempts
// 2  body   client ──► gateway ──► target    RequestBody, while 3 and 4 may run already; a `wholeBody` is sent with 1
// 3  head   client ◄── gateway ◄── target    `onInformation`…, then `onHead` or `onComplete`
// 4  body   client ◄── gateway ◄── target    `onData`…, then `onEnd`; `onComplete` has the whole body
/** Forwards one exchange between a client and a target. */
export class Forwarding implements ResponseHandler {
  readonly #outbound: Outbound;
  readonly #response: ClientResponse | AdaptingResponse;
  readonly #attempts: Attempts;
  #body: RequestBody | undefined;
  /** Set if the request body is read as a whole and changed before the request is sent. */
  #collectedBody: CollectedBody | undefined;
  // The side that has to act next: a timeout is its fault.
  #awaited: AwaitedParty = 'target';
  #ended = false;
  #tunnel: Tunnel | undefined;
  #mustEndIfEndless = false;

  constructor(outbound: Outbound) {
    this.#outbound = outbound;
    this.#attempts = new Attempts(outbound, this);
    const { adaptation } = outbound;
    this.#response = adaptation
      ? new AdaptingResponse(outbound, adaptation, this, (failure) => this.#fail(failure))
      : new ClientResponse(outbound, this);
  }

  start(): void {
    const { adaptation } = this.#outbound;
    this.#attempts.occupyTarget();
    if (!adaptation?.readsBody) this.#attempts.start();
    else {
      this.#collectedBody = new CollectedBody(this.#outbound, adaptation, (failure) => {
        if (failure) this.#fail(failure);
        else this.#attempts.start();
      });
      this.#collectedBody.start();
    }
  }

  /** The client has disconnected, or the gateway has answered instead of the target. Safe to call twice. */
  abort(): void {
    if (this.#ended) return;
    this.#finish();
    this.#attempts.destroyConnection();
  }

  /** Ends an endless stream cleanly when its version is retired, its target is removed, or the gateway stops. Safe to call twice. */
  endIfEndless(): void {
    this.#mustEndIfEndless = true;
    this.#tunnel?.endGracefully();
    if (!this.#response.endless || this.#ended) return;
    this.#response.end([]);
    this.abort();
  }

  /** Call this when the time to finish is over: ends the exchange. */
  cut(): void {
    if (this.#tunnel) this.#tunnel.cut();
    else if (!this.#ended) this.#fail(cutOff);
  }

  onConnected(): void {
    const { wholeBody, res, hasBody, expectsContinue, stats } = this.#outbound;
    this.#attempts.onConnected();
    // The body was read before, and may be empty. It cannot be read again.
    if (wholeBody !== undefined) {
      stats.bytesIn = wholeBody.length;
      this.#attempts.connection.requestComplete();
      return;
    }
    // The body is not read before there is a connection: until then another target may be tried.
    if (!hasBody || this.#body) return;
    if (expectsContinue) res.writeContinue();
    this.#body = new RequestBody(this.#outbound, this.#attempts.connection, this);
  }

  onBodyWaitsForClient(ms: number): void {
    if (!this.#response.started) this.#waitFor('client', ms);
  }

  onBodyWaitsForTarget(): void {
    if (!this.#response.started) this.#waitFor('target', this.#outbound.timeouts.firstByte);
  }

  onBodyTooLarge(): void {
    this.#fail(bodyTooLarge);
  }

  onInformation(head: ResponseHead): void {
    this.#response.sendInformation(head);
  }

  onComplete(head: ResponseHead, body: string): void {
    if (this.#ended) return;
    this.#attempts.onAnswered(head.status);
    const bodyUnread = this.#body?.done === false;
    // The attempt is finished first, because the exchange may be closed while the response is sent.
    this.#finish();
    this.#response.sendComplete(head, body, bodyUnread);
  }

  onHead(head: ResponseHead): void {
    if (this.#ended) return;
    this.#attempts.onAnswered(head.status);
    if (head.status !== 101) this.#beginResponse(head);
    else if (!this.#outbound.upgrade?.accepts(head))
      this.onFailure({ kind: 'malformed', cause: 'a 101 that does not match the request' });
    else this.#tunnel = openTunnel(this.#outbound, this.#attempts.connection, head, () => this.#finish());
    if (this.#mustEndIfEndless) this.endIfEndless();
  }

  onData(chunk: Buffer): boolean {
    if (this.#ended) return false;
    if (this.#response.write(chunk)) return true;
    this.#waitFor('client', this.#outbound.timeouts.writeIdle);
    return false;
  }

  onEnd(trailers: readonly string[]): void {
    if (this.#ended) return;
    this.#finish();
    this.#response.end(trailers);
  }

  onFailure(failure: WireFailure): void {
    if (this.#ended) return;
    const classified = forwardingFailure(failure, this.#awaited);
    this.#attempts.onFailure(failure, classified.fault);
    const bodyStarted = this.#body !== undefined;
    if (this.#response.started || !this.#attempts.retry(failure.kind, bodyStarted)) this.#fail(classified);
  }

  onDrain(): void {
    if (this.#ended) return;
    this.#waitFor('target', this.#response.idleTimeout);
    this.#attempts.connection.socket.resume();
  }

  #waitFor(party: AwaitedParty, ms: number): void {
    this.#awaited = party;
    this.#attempts.connection.setIdleTimeout(ms);
  }

  #beginResponse(head: ResponseHead): void {
    const bodyUnread = this.#body?.done === false;
    this.#response.start(head, bodyUnread);
    this.#waitFor('target', this.#response.idleTimeout);
  }

  #fail(failure: Failure): void {
    this.#finish();
    this.#attempts.destroyConnection();
    if (!this.#response.started) this.#outbound.onFailure(failure);
    else this.#response.abort(failure);
  }

  #finish(): void {
    this.#body?.stop();
    this.#collectedBody?.stop();
    this.#ended = true;
    this.#attempts.finish();
  }
}
