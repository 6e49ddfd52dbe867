import type { OutgoingHttpHeaders } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { lowerCased } from '../../../http1/grammar.ts';
import type { IncomingRequest, OutgoingResponse, WriteListener } from '../../forwarding/outbound.ts';
import type { ConnectionLoad } from '../../upstream/targetLimits.ts';
import type { TranslatedHead } from './requestHead.ts';

// Error codes of RFC 9113 §7.
const noError = 0;
const internalError = 2;
const connectError = 10;

type Listener = ((chunk: Buffer) => void) & (() => void);

/** A request of HTTP/2. Flow control is the back-pressure: a window is opened again when its bytes are read here. */
export class Http2Request implements IncomingRequest {
  readonly httpVersion = '2';
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly socket: Socket;
  readonly connectionLoad: ConnectionLoad;
  readonly #stream: ServerHttp2Stream;
  /** A listener for `end` that was added after the stream had emitted `end`. It is called in the next tick, unless it is removed. */
  #lateEndListener: Listener | undefined;

  constructor(
    stream: ServerHttp2Stream,
    { method, target, fields }: TranslatedHead,
    socket: Socket,
    connectionLoad: ConnectionLoad,
  ) {
    this.#stream = stream;
    this.connectionLoad = connectionLoad;
    this.method = method;
    this.url = target;
    this.rawHeaders = fields;
    this.socket = socket;
  }

  get complete(): boolean {
    return isComplete(this.#stream);
  }

  on(event: 'data' | 'end', listener: Listener): this {
    // A stream with an empty body emits `end` as soon as END_STREAM arrives, although nothing has read the stream.
    if (event === 'end' && this.#stream.readableEnded) {
      this.#lateEndListener = listener;
      process.nextTick(() => this.#lateEndListener?.());
    } else this.#stream.on(event, listener);
    return this;
  }

  off(event: 'data' | 'end', listener: Listener): this {
    if (this.#lateEndListener === listener) this.#lateEndListener = undefined;
    this.#stream.off(event, listener);
    return this;
  }

  pause(): this {
    this.#stream.pause();
    return this;
  }

  resume(): this {
    this.#stream.resume();
    return this;
  }
}

/** Whether the client has sent END_STREAM, or nothing more can arrive. */
function isComplete(stream: ServerHttp2Stream): boolean {
  return stream.endAfterHeaders || stream.readableEnded || stream.destroyed || stream.state.remoteClose === 1;
}

/** The connection of a stream. */
export interface StreamOwner {
  /** The gateway stops: the client is told to send its next requests on another connection. */
  announceEnd(): void;
  onResponseClosed(response: Http2Response): void;
}

/** A response of HTTP/2. Its head is sent with the first bytes of the body, or with its end. */
export class Http2Response implements OutgoingResponse {
  /** Null: other streams share the connection, so nothing that handles one response may close or reset it. */
  readonly socket = null;
  headersSent = false;
  statusCode = 200;
  destroyed = false;
  shouldKeepAlive = true;
  /** Its index in the connection's list of open responses. */
  index = -1;
  /** When the session first found that all of the response is written, but not sent; by `performance.now()`. */
  unsentSince: number | undefined;
  /** When the gateway reset the stream itself, because the response broke off or its time was over; by `performance.now()`. */
  resetAt: number | undefined;
  readonly #stream: ServerHttp2Stream;
  readonly #owner: StreamOwner;
  /** The head, until it is sent. */
  #fields: readonly string[] | undefined;
  #contentLength: OutgoingHttpHeaders['content-length'];
  #trailers: OutgoingHttpHeaders | undefined;
  #ended = false;
  readonly #opensWebSocket: boolean;
  /** The stream is a tunnel, which ends the exchange itself. */
  #isTunnel = false;
  readonly #onClose: (() => void)[] = [];

  constructor(stream: ServerHttp2Stream, owner: StreamOwner, opensWebSocket: boolean) {
    this.#stream = stream;
    this.#owner = owner;
    this.#opensWebSocket = opensWebSocket;
    stream.on('close', () => {
      if (!this.#isTunnel) this.emit('close');
    });
  }

  get writableFinished(): boolean {
    return this.#isTunnel || (this.#ended && this.#stream.writableFinished);
  }

  /** Everything is written here, but the client has not read it. */
  get isUnsent(): boolean {
    return this.#ended && !this.destroyed;
  }

  writeHead(status: number, reasonOrFields: string | string[], fieldsAfterReason?: string[]): this {
    // HTTP/2 has no reason phrase (RFC 9113 §8.3.2).
    this.#fields = typeof reasonOrFields === 'string' ? (fieldsAfterReason ?? []) : reasonOrFields;
    this.statusCode = status;
    this.headersSent = true;
    if (!this.shouldKeepAlive) this.#owner.announceEnd();
    return this;
  }

  writeContinue(): void {
    this.writeInformation(100, []);
  }

  writeInformation(status: number, fields: readonly string[]): void {
    if (this.headersSent || !this.#isOpen) return;
    this.#send(() => this.#stream.additionalHeaders(groupedFields(fields, status)));
  }

  write(chunk: Buffer | '', listenerOrEncoding?: WriteListener | 'latin1'): void {
    // If the stream was reset, its `close` event ends the exchange.
    if (this.#ended || !this.#isOpen) return;
    const isLast = false;
    this.#sendHead(isLast);
    // '' with 'latin1' sends only the head.
    if (chunk !== '' && listenerOrEncoding !== 'latin1' && this.#stream.writable)
      this.#stream.write(chunk, listenerOrEncoding);
  }

  get writableLength(): number {
    return this.#stream.writableLength;
  }

  addTrailers(trailers: readonly [name: string, value: string][]): void {
    if (trailers.length > 0) this.#trailers = groupedFields(trailers.flat());
  }

  end(text = '', encoding: BufferEncoding = 'utf8'): void {
    if (this.#ended || !this.#isOpen) return;
    this.#ended = true;
    const isLast = text === '';
    this.#sendHead(isLast);
    const stream = this.#stream;
    // Not writable: `#sendHead` has sent END_STREAM with the head, because the response has no body.
    if (!stream.writable) this.#stopRequestBody();
    else if (text === '') stream.end();
    else stream.end(text, encoding);
  }

  /** Resets the stream, so that the client never takes an incomplete body for a complete one. */
  destroy(): void {
    this.resetAt ??= performance.now();
    this.#stream.close(internalError);
  }

  detachSocket(): void {
    throw new Error('a stream of HTTP/2 has no socket of its own');
  }

  openStream(fields: readonly string[]): ServerHttp2Stream {
    this.#isTunnel = true;
    this.headersSent = true;
    this.#send(() => this.#stream.respond(groupedFields(fields, 200)));
    return this.#stream;
  }

  getHeader(name: string): string | number | undefined {
    return name === 'content-length' ? this.#contentLength : undefined;
  }

  appendHeader(): void {
    throw new Error('no application sets fields of this response');
  }

  on(_event: 'close', listener: () => void): this {
    this.#onClose.push(listener);
    return this;
  }

  once(event: 'close', listener: () => void): this {
    return this.on(event, listener);
  }

  emit(_event: 'close'): boolean {
    if (this.destroyed) return false;
    this.destroyed = true;
    for (const listener of this.#onClose) listener.call(this);
    this.#owner.onResponseClosed(this);
    return true;
  }

  get #isOpen(): boolean {
    return !this.#stream.closed && !this.#stream.destroyed;
  }

  /** Sends the head, if it is not sent yet. `isLast`: no body follows the head. */
  #sendHead(isLast: boolean): void {
    const fields = this.#fields;
    if (fields === undefined) return;
    this.#fields = undefined;
    // The backend has not switched protocols, but to the client any 2xx would mean that the WebSocket is open.
    if (this.#opensWebSocket && this.statusCode < 300) {
      this.resetAt ??= performance.now();
      this.#stream.close(connectError);
      return;
    }
    const headers = groupedFields(fields, this.statusCode);
    this.#contentLength = headers['content-length'];
    const stream = this.#stream;
    // With `waitForTrailers`, `#sendEnd` sends END_STREAM after the body. Two cases without trailers need this, too:
    // - The body is not written as a whole yet. If the response breaks off, the stream is reset, and END_STREAM must not be sent before.
    // - The client has not sent its whole body. `#sendEnd` then also stops that body.
    const waitForTrailers = !this.#ended || this.#trailers !== undefined || !isComplete(stream);
    if (waitForTrailers) stream.once('wantTrailers', this.#sendEnd);
    this.#send(() => stream.respond(headers, { endStream: isLast && !waitForTrailers, waitForTrailers }));
  }

  /** Everything is sent except END_STREAM. */
  readonly #sendEnd = (): void => {
    const stream = this.#stream;
    this.#send(() => stream.sendTrailers(this.#trailers ?? {}));
    this.#stopRequestBody();
  };

  /** Tells the client to stop sending its body, if it still does (RFC 9113 §8.1). */
  #stopRequestBody(): void {
    const stream = this.#stream;
    if (isComplete(stream)) return;
    stream.resume();
    // node:http2 sends trailers and END_STREAM in the next turn of the event loop.
    setImmediate(() => stream.close(noError));
  }

  /** node:http2 throws if it does not accept a field. The stream is reset then. */
  #send(send: () => void): void {
    try {
      send();
    } catch {
      this.destroy();
    }
  }
}

// RFC 9113 §8.2.2, and RFC 8441 §5.1. The gateway itself sets `Connection`, which HTTP/1.1 needs.
const connectionSpecific = new Set(
  `connection keep-alive proxy-connection transfer-encoding upgrade http2-settings te sec-websocket-accept`.split(' '),
);

/** The fields in the form of node:http2, in the order of the first field of each name. `status`: undefined in trailers. */
function groupedFields(fields: readonly string[], status?: number): OutgoingHttpHeaders {
  const grouped: OutgoingHttpHeaders = Object.create(null);
  if (status !== undefined) grouped[':status'] = status;
  for (let at = 0; at < fields.length; at += 2) {
    const name = lowerCased(fields[at] as string);
    const value = fields[at + 1] as string;
    if (connectionSpecific.has(name)) continue;
    const earlier = grouped[name];
    if (earlier === undefined) grouped[name] = value;
    else if (Array.isArray(earlier)) earlier.push(value);
    else grouped[name] = [String(earlier), value];
  }
  return grouped;
}
