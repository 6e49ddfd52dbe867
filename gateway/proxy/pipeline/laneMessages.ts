import type { Socket } from 'node:net';
import { lowerCased } from '../../http1/grammar.ts';
import type { PlainRequest } from '../../http1/plainRequest.ts';
import { copyIfShared } from '../../http1/readBuffer.ts';
import { writeText } from '../../http1/textSocket.ts';
import { http } from '../../shared/builtinHttp.ts';
import { currentHttpDate } from '../../shared/httpDate.ts';
import type { IncomingRequest, OutgoingResponse, WriteListener } from '../forwarding/outbound.ts';
import type { RenderedHead } from '../forwarding/renderedHead.ts';
import { interimHead } from '../forwarding/responseFields.ts';

/** The connection of a request and its response. */
export interface LaneOwner {
  readonly socket: Socket;
  /** The fields that keep the connection open after a response, as text. */
  readonly keepAliveFields: string;
  /** Reads from the socket again, if that was stopped because the body was not consumed. */
  resumeReading(): void;
  /** The kernel has not accepted all that was written: the client reads too slowly. */
  startSlowClientTimeout(): void;
  /** The whole response is written. The kernel has to accept it within `ms`; default: the longest `write_idle` of all versions. */
  setSendDeadline(ms?: number): void;
  /** The response is complete, and its last event was emitted. */
  onResponseEnd(): void;
}

// How much of a body is read before it is forwarded. As in node:http.
const maxUnreadBytes = 64 * 1024;

type DataListener = (chunk: Buffer) => void;

/** A request of the fast lane: what the pipeline uses of an `IncomingMessage`, without its streams. */
export class LaneRequest implements IncomingRequest {
  readonly httpVersion = '1.1';
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly socket: Socket;
  readonly wholeBody: string | undefined;
  /** How many bytes of the body have not been received yet. */
  missingBytes: number;
  readonly #owner: LaneOwner;
  // Received, and not read yet. Most requests have no body, or it arrives with the head.
  #unread: Buffer[] | undefined;
  #unreadBytes = 0;
  #flowing = false;
  #onData: DataListener | undefined;
  #onEnd: (() => void) | undefined;

  constructor({ method, target, fields, contentLength }: PlainRequest, owner: LaneOwner, wholeBody?: string) {
    this.method = method;
    this.url = target;
    this.rawHeaders = fields;
    this.wholeBody = wholeBody;
    this.missingBytes = wholeBody === undefined ? contentLength : 0;
    this.socket = owner.socket;
    this.#owner = owner;
  }

  get complete(): boolean {
    return this.missingBytes === 0;
  }

  on(event: 'data' | 'end', listener: DataListener & (() => void)): this {
    if (event === 'end') this.#onEnd = listener;
    else {
      this.#onData = listener;
      // The caller adds its other listeners first.
      process.nextTick(() => this.resume());
    }
    return this;
  }

  off(event: 'data' | 'end', _listener: DataListener & (() => void)): this {
    if (event === 'end') this.#onEnd = undefined;
    else this.#onData = undefined;
    return this;
  }

  pause(): this {
    this.#flowing = false;
    return this;
  }

  resume(): this {
    this.#flowing = true;
    this.#read();
    return this;
  }

  /** Takes received bytes of the body. False: the caller must not read more, which may overwrite uncopied bytes, until `resumeReading`. */
  receive(buffer: Buffer, start: number, end: number): boolean {
    const flowing = this.#flowing;
    this.missingBytes -= end - start;
    this.#unread ??= [];
    this.#unread.push(flowing ? copyIfShared(buffer, start, end) : Buffer.from(buffer.subarray(start, end)));
    this.#unreadBytes += end - start;
    if (!flowing) return this.#unreadBytes < maxUnreadBytes;
    this.#read();
    return this.#flowing;
  }

  #read(): void {
    while (this.#flowing) {
      const chunk = this.#unread?.shift();
      if (!chunk) break;
      this.#unreadBytes -= chunk.length;
      this.#onData?.(chunk);
    }
    if (!this.#flowing) return;
    if (!this.complete) {
      this.#owner.resumeReading();
      return;
    }
    const onEnd = this.#onEnd;
    this.#onEnd = undefined;
    onEnd?.();
  }
}

/** A response of the fast lane. It writes its head in one piece, together with the body if that is complete. */
export class LaneResponse implements OutgoingResponse {
  readonly req: LaneRequest;
  socket: Socket | null;
  headersSent = false;
  statusCode = 200;
  writableFinished = false;
  destroyed = false;
  shouldKeepAlive = true;
  readonly #owner: LaneOwner;
  #head = '';
  #bodiless: boolean;
  #chunked = false;
  #trailers = '';
  #ended = false;
  #onClose: (() => void)[] | undefined;

  constructor(req: LaneRequest, owner: LaneOwner) {
    this.req = req;
    this.socket = owner.socket;
    this.#owner = owner;
    this.#bodiless = req.method === 'HEAD';
  }

  writeHead(status: number, reasonOrFields: string | string[], fieldsAfterReason?: string[]): this {
    const reason = typeof reasonOrFields === 'string' ? reasonOrFields : http.STATUS_CODES[status];
    const fields = typeof reasonOrFields === 'string' ? (fieldsAfterReason ?? []) : reasonOrFields;
    let head = `HTTP/1.1 ${status} ${reason}\r\n`;
    let hasDate = false;
    let hasLength = false;
    let closes = false;
    for (let at = 0; at < fields.length; at += 2) {
      const name = fields[at] as string;
      const lower = lowerCased(name);
      if (lower === 'date') hasDate = true;
      else if (lower === 'content-length') hasLength = true;
      // Only the gateway itself sets it, to `close`.
      else if (lower === 'connection') closes = true;
      head += `${name}: ${fields[at + 1]}\r\n`;
    }
    if (closes) this.shouldKeepAlive = false;
    this.#setHead(status, head, hasDate, hasLength, closes);
    return this;
  }

  writeRendered({ status, beforeLinks, afterLinks, hasDate, hasLength }: RenderedHead, links: readonly string[]): void {
    let head = beforeLinks;
    for (const link of links) head += `Link: ${link}\r\n`;
    this.#setHead(status, head + afterLinks, hasDate, hasLength, false);
  }

  writeContinue(): void {
    this.writeInformation(100, []);
  }

  writeInformation(status: number, fields: string[]): void {
    if (this.#isWritable) this.socket?.write(interimHead(status, fields), 'latin1');
  }

  write(chunk: Buffer | '', listenerOrEncoding?: WriteListener | 'latin1'): void {
    const { socket } = this;
    // The connection is closing. Its `close` event ends the exchange.
    if (!socket || !this.#isWritable) return;
    if (this.#head !== '') writeText(socket, this.#head);
    this.#head = '';
    // `write('', 'latin1')` sends only the head.
    if (chunk !== '' && listenerOrEncoding !== 'latin1' && !this.#bodiless)
      this.#writeBody(socket, chunk, listenerOrEncoding);
    if (socket.writableLength > 0) this.#owner.startSlowClientTimeout();
  }

  get writableLength(): number {
    return this.socket?.writableLength ?? 0;
  }

  setUnsentTimeout(ms: number): void {
    this.#owner.setSendDeadline(ms);
  }

  addTrailers(trailers: [name: string, value: string][]): void {
    for (const [name, value] of trailers) this.#trailers += `${name}: ${value}\r\n`;
  }

  end(text = '', encoding: BufferEncoding = 'utf8'): void {
    const { socket } = this;
    if (!socket || this.#ended) return;
    this.#ended = true;
    if (!socket.writable) return;
    const body = encoding === 'latin1' || text === '' ? text : Buffer.from(text, encoding).toString('latin1');
    let unwritten = this.#head;
    this.#head = '';
    if (this.#chunked) {
      if (body !== '') unwritten += `${body.length.toString(16)}\r\n${body}\r\n`;
      unwritten += `0\r\n${this.#trailers}\r\n`;
    } else if (!this.#bodiless) unwritten += body;
    // With TLS, the kernel gets the bytes only after they are encrypted.
    if (unwritten !== '' && !('encrypted' in socket)) {
      writeText(socket, unwritten);
      unwritten = '';
    }
    // The kernel has usually accepted everything by now. Waiting for the callback would take another tick.
    if (unwritten === '' && socket.writable && socket.writableLength === 0) this.#finish();
    else {
      // Called when the kernel has accepted this and everything before it. After an error, the connection closes.
      socket.write(unwritten, 'latin1', (error) => {
        if (!error) this.#finish();
      });
      this.#owner.setSendDeadline();
    }
  }

  destroy(): void {
    this.socket?.destroy();
  }

  detachSocket(): void {
    throw new Error('the fast lane carries no upgrades');
  }

  getHeader(): undefined {
    return undefined;
  }

  appendHeader(): void {
    throw new Error('no application sets fields of this response');
  }

  on(_event: 'close', listener: () => void): this {
    if (!this.#onClose) this.#onClose = [listener];
    else this.#onClose.push(listener);
    return this;
  }

  once(event: 'close', listener: () => void): this {
    return this.on(event, listener);
  }

  emit(_event: 'close'): boolean {
    if (this.destroyed) return false;
    this.destroyed = true;
    this.socket = null;
    if (this.#onClose) for (const listener of this.#onClose) listener.call(this);
    return true;
  }

  /** `lines`: the status line and the fields. Adds `Connection`, `Keep-Alive` and `Transfer-Encoding`, and a missing Date. */
  #setHead(status: number, lines: string, hasDate: boolean, hasLength: boolean, hasConnection: boolean): void {
    this.#bodiless ||= status === 204 || status === 304;
    this.#chunked = !hasLength && !this.#bodiless;
    let head = hasDate ? lines : `${lines}Date: ${currentHttpDate()}\r\n`;
    if (!hasConnection) head += this.shouldKeepAlive ? this.#owner.keepAliveFields : 'Connection: close\r\n';
    if (this.#chunked) head += 'Transfer-Encoding: chunked\r\n';
    this.#head = `${head}\r\n`;
    this.statusCode = status;
    this.headersSent = true;
  }

  #writeBody(socket: Socket, chunk: Buffer, onWritten?: WriteListener): void {
    if (this.#chunked) {
      socket.cork();
      socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
      socket.write(chunk);
      socket.write('\r\n', 'latin1', onWritten);
      socket.uncork();
    } else socket.write(chunk, onWritten);
  }

  get #isWritable(): boolean {
    return !this.#ended && this.socket?.writable === true;
  }

  #finish(): void {
    // The connection was lost meanwhile.
    if (this.destroyed || this.socket?.destroyed) return;
    this.writableFinished = true;
    this.emit('close');
    this.#owner.onResponseEnd();
  }
}
