import { Connection, type Endpoint } from '../../http1/connection.ts';
import { type ResponseHead, ResponseHeads } from '../../http1/responseHead.ts';
import type { ResponseHandler } from '../../http1/responseReader.ts';

export interface SingleRequestSettings {
  /** Value of the Host field. */
  readonly authority: string;
  /** The request target; undefined: nothing is sent, only a connection is made. */
  readonly path: string | undefined;
  readonly userAgent: string;
  /** Limits the connection and the response, ms. */
  readonly timeout: number;
}

export interface SingleResult {
  /** Whether a connection was made, TLS included. */
  readonly connected: boolean;
  /** Of the response; undefined: there is none. */
  readonly status: number | undefined;
  /** Why there is no response, as text; undefined if there is one, or if none was wanted. */
  readonly failure: string | undefined;
  /** The result came from the time limit. */
  readonly timedOut: boolean;
}

/**
 * One GET on a new connection, so that a full accept queue is noticed. Redirects are not followed and the body is ignored. It uses
 * the same HTTP client as the requests of clients: with a more lenient parser, a target could count as good although the gateway
 * rejects its responses.
 */
export class SingleRequest implements ResponseHandler {
  readonly #connection: Connection;
  readonly #timer: NodeJS.Timeout;
  readonly #wantsResponse: boolean;
  #onResult: ((result: SingleResult) => void) | undefined;
  #connected = false;

  constructor(
    endpoint: Endpoint,
    { authority, path, userAgent, timeout }: SingleRequestSettings,
    onResult: (result: SingleResult) => void,
  ) {
    this.#onResult = onResult;
    this.#wantsResponse = path !== undefined;
    const onTimeout = () => this.#finish(undefined, `not answered within ${timeout} ms`, true);
    this.#timer = setTimeout(onTimeout, timeout).unref();
    const heads = new ResponseHeads();
    const owner = { heads, onIdle: (connection: Connection) => connection.destroy(), onClose: () => {} };
    // The connection has no timeouts of its own: the timer above limits the whole request.
    const noTimeout = 0;
    this.#connection = new Connection(endpoint, noTimeout, owner);
    const fields = `Host: ${authority}\r\nUser-Agent: ${userAgent}\r\nConnection: close\r\n`;
    const head = path === undefined ? '' : `GET ${path} HTTP/1.1\r\n${fields}\r\n`;
    const expectsResponseBody = true;
    this.#connection.send(this, head, this.#wantsResponse, expectsResponseBody, noTimeout);
  }

  /** Ends the request without a result. */
  cancel(): void {
    this.#onResult = undefined;
    clearTimeout(this.#timer);
    this.#connection.destroy();
  }

  onConnected(): void {
    this.#connected = true;
    if (!this.#wantsResponse) this.#finish(undefined, undefined);
  }

  onInformation(): void {}

  onComplete({ status }: ResponseHead): void {
    this.#finish(status, undefined);
  }

  onHead({ status }: ResponseHead): void {
    // Called later, because the same read may contain a malformed body, which must fail the request.
    queueMicrotask(() => this.#finish(status, undefined));
  }

  onData(): boolean {
    return true;
  }

  onEnd(): void {}

  onFailure({ cause }: { readonly cause: string }): void {
    this.#finish(undefined, cause);
  }

  #finish(status: number | undefined, failure: string | undefined, timedOut = false): void {
    const onResult = this.#onResult;
    this.cancel();
    onResult?.({ connected: this.#connected, status, failure, timedOut });
  }
}
