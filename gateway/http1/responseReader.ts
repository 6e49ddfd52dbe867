import { ChunkedDecoder } from './chunked.ts';
import { copyIfShared } from './readBuffer.ts';
import {
  asMalformed,
  checkPartialHead,
  MalformedResponse,
  type ResponseHead,
  type ResponseHeads,
} from './responseHead.ts';

/**
 * The events of one response, in this order: `onConnected`, any number of `onInformation`, then either `onComplete`, or
 * `onHead`, `onData`… and `onEnd`. `onFailure` may come at any time and is the last call.
 */
export interface ResponseHandler {
  /** The connection is open: the body may be sent. */
  onConnected(): void;
  /** A 1xx other than 101. */
  onInformation(head: ResponseHead): void;
  /** Head and body of a small response arrived in one read. `body`: latin1 text. */
  onComplete(head: ResponseHead, body: string): void;
  onHead(head: ResponseHead): void;
  /**
   * False: the connection is not read until `resume`, and `chunk` stays as it is until then. True: the next read may overwrite
   * `chunk`. In a tunnel, `chunk` belongs to the handler and is never overwritten.
   */
  onData(chunk: Buffer): boolean;
  /** The trailers: alternating names and values. */
  onEnd(trailers: readonly string[]): void;
  onFailure(failure: WireFailure): void;
}

/**
 * - `unresolved`: the host name has no address, or the resolver fails; nothing was sent
 * - `unreachable`: no connection could be made: refused or no route; nothing was sent
 * - `exhausted`: this process has no file descriptor left; nothing was sent
 * - `untrusted`: the TLS handshake failed; nothing was sent
 * - `connect-timeout`: no connection was made in time; nothing was sent
 * - `lost`: the connection ended before the response did
 * - `malformed`: the response breaks the protocol
 * - `timeout`: no byte came within the idle timeout
 */
export type WireFailureKind =
  | 'unresolved'
  | 'unreachable'
  | 'exhausted'
  | 'untrusted'
  | 'connect-timeout'
  | 'lost'
  | 'malformed'
  | 'timeout';

export interface WireFailure {
  readonly kind: WireFailureKind;
  /** For the log; never sent to a client. */
  readonly cause: string;
}

// Twice the default buffer of HAProxy, and at least four times that of nginx (`proxy_buffer_size`).
const maxHeadBytes = 32 * 1024;
const maxInterimResponses = 32;

/** `done`: the response is complete; call `callAtEnd`. */
type ReadOutcome = 'more' | 'paused' | 'done' | MalformedResponse;

type BodyKind = 'length' | 'chunked' | 'until-close' | 'tunnel';

/** Parses the responses of a connection one after the other: head, framing (RFC 9112 §6.3), body. */
export class ResponseReader {
  /** The head of the final response has arrived. */
  inBodyOrTunnel = false;
  reusable = false;
  /** The handler has not sent all bytes of the last read. */
  hasUnsentBytes = false;
  /** The `keepAlive` of the latest response head. */
  keepAlive: number | undefined;
  /** Undefined between two responses. */
  handler: ResponseHandler | undefined;
  readonly #heads: ResponseHeads;
  #expectBody = true;
  /** The head as far as it has arrived; '' between two heads. */
  #partialHead = '';
  #interimCount = 0;
  #bodyKind: BodyKind = 'length';
  #remainingBytes = 0;
  #chunkedDecoder: ChunkedDecoder | undefined;
  #wholeResponse: { head: ResponseHead; body: string } | undefined;

  constructor(heads: ResponseHeads) {
    this.#heads = heads;
  }

  begin(handler: ResponseHandler, expectBody: boolean): void {
    this.handler = handler;
    this.inBodyOrTunnel = false;
    this.reusable = false;
    this.#expectBody = expectBody;
    this.#partialHead = '';
    this.#interimCount = 0;
    this.#chunkedDecoder = undefined;
  }

  get responseBegun(): boolean {
    return this.inBodyOrTunnel || this.#partialHead !== '' || this.#interimCount > 0;
  }

  /** Whether this response is complete when the target closes the connection. */
  get endsWithConnection(): boolean {
    return this.inBodyOrTunnel && this.#bodyKind === 'until-close';
  }

  get isTunnel(): boolean {
    return this.inBodyOrTunnel && this.#bodyKind === 'tunnel';
  }

  get inBody(): boolean {
    return this.inBodyOrTunnel && this.#bodyKind !== 'tunnel';
  }

  read(buffer: Buffer, length: number): ReadOutcome {
    this.hasUnsentBytes = false;
    try {
      return this.inBodyOrTunnel ? this.#readBody(buffer, 0, length) : this.#readHead(buffer, 0, length);
    } catch (error) {
      return asMalformed(error);
    }
  }

  /** Calls `onComplete` or `onEnd` of the handler. Returns the error if that call throws. */
  callAtEnd(handler: ResponseHandler): MalformedResponse | undefined {
    const wholeResponse = this.#wholeResponse;
    const trailers = this.#chunkedDecoder?.trailers ?? [];
    this.#wholeResponse = undefined;
    try {
      if (wholeResponse) handler.onComplete(wholeResponse.head, wholeResponse.body);
      else handler.onEnd(trailers);
      return undefined;
    } catch (error) {
      return asMalformed(error);
    }
  }

  #readHead(buffer: Buffer, start: number, length: number): ReadOutcome {
    const earlierLength = this.#partialHead.length;
    const text =
      this.#partialHead + buffer.toString('latin1', start, Math.min(length, start + maxHeadBytes - earlierLength));
    const headEnd = text.indexOf('\r\n\r\n', Math.max(0, earlierLength - 3));
    if (headEnd === -1) {
      if (text.length >= maxHeadBytes) throw new MalformedResponse('a head that is too large');
      checkPartialHead(text, earlierLength);
      this.#partialHead = text;
      return 'more';
    }
    const head = this.#heads.parse(text.slice(0, headEnd + 4));
    const bodyStart = start + headEnd + 4 - earlierLength;
    this.#partialHead = '';
    if (head.status < 200 && head.status !== 101) {
      this.#interimCount += 1;
      if (this.#interimCount > maxInterimResponses) throw new MalformedResponse('too many interim responses');
      this.handler?.onInformation(head);
      return bodyStart < length ? this.#readHead(buffer, bodyStart, length) : 'more';
    }
    this.keepAlive = head.keepAlive;
    const size = this.#bodySize(head);
    const available = length - bodyStart;
    // `text` has at most `maxHeadBytes` bytes. The end of a long body may be missing in it.
    const textHasBody = size <= text.length - headEnd - 4;
    if (size >= 0 && size <= available && textHasBody) {
      this.#wholeResponse = { head, body: text.slice(headEnd + 4, headEnd + 4 + size) };
      this.reusable = head.persistent && available === size;
      return 'done';
    }
    this.inBodyOrTunnel = true;
    this.reusable = head.persistent && (size >= 0 || head.chunked);
    this.handler?.onHead(head);
    return available > 0 ? this.#readBody(buffer, bodyStart, length) : 'more';
  }

  /** The rules of RFC 9112 §6.3, in the same order. Negative if the size is not known in advance. */
  #bodySize(head: ResponseHead): number {
    if (head.status === 101) return this.#startBody('tunnel', unknownSize);
    if (!this.#expectBody || head.status === 204 || head.status === 304) return this.#startBody('length', 0);
    if (head.chunked) {
      this.#chunkedDecoder = new ChunkedDecoder();
      return this.#startBody('chunked', unknownSize);
    }
    if (head.contentLength >= 0) return this.#startBody('length', head.contentLength);
    return this.#startBody('until-close', unknownSize);
  }

  #startBody(kind: BodyKind, size: number): number {
    this.#bodyKind = kind;
    this.#remainingBytes = size;
    return size;
  }

  #readBody(buffer: Buffer, start: number, length: number): ReadOutcome {
    let bodyEnd = length;
    let done = false;
    if (this.#chunkedDecoder) {
      bodyEnd = this.#chunkedDecoder.read(buffer, start, length, (from, to) => this.#emit(buffer, from, to));
      done = this.#chunkedDecoder.trailers !== undefined;
    } else if (this.#bodyKind === 'length') {
      bodyEnd = Math.min(length, start + this.#remainingBytes);
      this.#remainingBytes -= bodyEnd - start;
      if (bodyEnd > start) this.#emit(buffer, start, bodyEnd);
      done = this.#remainingBytes === 0;
    } else {
      this.#emit(buffer, start, length);
    }
    if (bodyEnd < length) this.reusable = false;
    if (done) return 'done';
    return this.hasUnsentBytes ? 'paused' : 'more';
  }

  #emit(buffer: Buffer, start: number, end: number): void {
    if (this.handler?.onData(copyIfShared(buffer, start, end)) === false) this.hasUnsentBytes = true;
  }
}

const unknownSize = -1;
