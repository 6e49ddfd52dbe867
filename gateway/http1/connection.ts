import { isIP, type LookupFunction, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { deadlineIn, type Timed, unwatchDeadline, watchDeadline } from './deadlines.ts';
import { ReadBuffer } from './readBuffer.ts';
import type { ResponseHeads } from './responseHead.ts';
import { type ResponseHandler, ResponseReader, type WireFailureKind } from './responseReader.ts';
import { TextSocket, writeText } from './textSocket.ts';

/** What a connection reports to its pool, or to the probe that made it. */
export interface ConnectionOwner {
  /** Parses the heads of its connections, which come from one target. */
  readonly heads: ResponseHeads;
  /** `announced`: how long the target keeps the connection open, according to its Keep-Alive field, ms. */
  onIdle(connection: Connection, announced: number | undefined): void;
  onClose(connection: Connection): void;
  /** A connection could not be made, or the target has ended it without notice. */
  onLost?(wasConnected: boolean): void;
}

/** A connection to a target. It carries one exchange at a time, and is idle in its pool in between. */
export class Connection implements Timed, SocketEvents {
  deadline = Number.POSITIVE_INFINITY;
  /** How many exchanges came before the current one. If above 0, the target may have closed the connection while it was idle. */
  earlierExchanges = -1;
  /** When it was begun, monotonic ms. */
  readonly begunAt = performance.now();
  /** For writing bodies and for pausing. Only this class reads from it. */
  readonly socket: Socket;
  readonly #endpoint: Endpoint;
  readonly #owner: ConnectionOwner;
  readonly #reader: ResponseReader;
  readonly #readBuffer = new ReadBuffer();
  /** The kind of failure if the connection closes now. */
  #failureOnClose: 'unresolved' | 'unreachable' | 'exhausted' | 'untrusted' | 'lost';
  /** The request head, until the connection is open. */
  #unsentHead = '';
  #requestSent = false;
  #idleTimeout = 0;
  #closeCause = 'closed';

  constructor(endpoint: Endpoint, connectTimeout: number, owner: ConnectionOwner) {
    this.#endpoint = endpoint;
    this.#owner = owner;
    this.#reader = new ResponseReader(owner.heads);
    this.deadline = deadlineIn(connectTimeout);
    this.#failureOnClose = isIP(endpoint.host) === 0 ? 'unresolved' : 'unreachable';
    this.socket = openSocket(endpoint, this, this.#readBuffer);
    watchDeadline(this);
  }

  get responseBegun(): boolean {
    return this.#reader.responseBegun;
  }

  /** TLS included. */
  get #isConnected(): boolean {
    return this.#failureOnClose === 'lost';
  }

  get closed(): boolean {
    return this.socket.destroyed;
  }

  /**
   * Sends the head of a request, or head and body in one text. `isRequestComplete`: no body follows. `expectResponseBody`: false for
   * HEAD. Fails with `timeout` if the response does not begin within `firstByte` ms.
   */
  send(
    handler: ResponseHandler,
    head: string,
    isRequestComplete: boolean,
    expectResponseBody: boolean,
    firstByte: number,
  ): void {
    this.earlierExchanges += 1;
    this.#idleTimeout = firstByte;
    this.#requestSent = isRequestComplete;
    this.#reader.begin(handler, expectResponseBody);
    if (!this.#isConnected) {
      this.#unsentHead = head;
      return;
    }
    writeText(this.socket, head);
    this.setIdleTimeout(firstByte);
    if (!isRequestComplete) handler.onConnected();
  }

  /** Passes all following bytes to another handler: a tunnel after a 101. */
  handOver(handler: ResponseHandler): void {
    this.#reader.handler = handler;
  }

  /** The last byte of the request body is written. */
  requestComplete(): void {
    this.#requestSent = true;
  }

  /** Fails the exchange after `ms` without a byte, counted from now and from each read. 0: never. */
  setIdleTimeout(ms: number): void {
    this.#idleTimeout = ms;
    this.deadline = deadlineIn(ms);
  }

  /** Closes the connection. The handler gets no further calls. */
  destroy(): void {
    this.#reader.handler = undefined;
    this.socket.destroy();
  }

  onDeadline(): void {
    if (!this.#isConnected) this.#noteLoss();
    if (!this.#reader.handler) this.destroy();
    else if (this.#isConnected) this.#fail('timeout', 'timed out');
    else if (this.#failureOnClose === 'unresolved') this.#fail('unresolved', 'the name was not resolved in time');
    else this.#fail('connect-timeout', 'timed out');
  }

  onResolved(): void {
    if (this.#failureOnClose === 'unresolved') this.#failureOnClose = 'unreachable';
  }

  onTcpConnected(): void {
    this.#failureOnClose = 'untrusted';
  }

  onConnected(): void {
    const isCurrent = this.#endpoint.isCurrent?.(this.socket.remoteAddress ?? '') ?? true;
    if (isCurrent === true) this.#open();
    else void isCurrent.then((isStillCurrent) => this.#onConfirmed(isStillCurrent));
  }

  #onConfirmed(isCurrent: boolean): void {
    if (this.closed) return;
    if (isCurrent) this.#open();
    else if (this.#reader.handler)
      this.#fail('unresolved', 'the address that was connected no longer belongs to the name');
    else this.destroy();
  }

  #open(): void {
    this.#failureOnClose = 'lost';
    if (this.#unsentHead !== '') writeText(this.socket, this.#unsentHead);
    this.#unsentHead = '';
    this.setIdleTimeout(this.#idleTimeout);
    this.#reader.handler?.onConnected();
  }

  onRead(buffer: Buffer, length: number): boolean {
    // Unexpected bytes: after a complete response, or before the first request.
    if (!this.#reader.handler) {
      this.destroy();
      return false;
    }
    if (this.#reader.inBodyOrTunnel) this.deadline = deadlineIn(this.#idleTimeout);
    const outcome = this.#reader.read(buffer, length);
    const isMoreExpected = this.#reader.inBody && outcome !== 'done';
    this.#readBuffer.chooseNextBuffer(length, isMoreExpected, this.#reader.hasUnsentBytes);
    // The handler may have destroyed the connection meanwhile.
    if (this.closed || outcome === 'more') return true;
    if (outcome === 'paused') return false;
    if (outcome === 'done') this.#onResponse();
    else this.#fail('malformed', outcome.message);
    return true;
  }

  /**
   * Returns the connection to its pool before it calls the handler, so that the next request of the client can use the
   * connection.
   */
  #onResponse(): void {
    const reader = this.#reader;
    const { handler } = reader;
    reader.handler = undefined;
    this.deadline = Number.POSITIVE_INFINITY;
    if (reader.reusable && this.#requestSent && !this.closed) this.#owner.onIdle(this, reader.keepAlive);
    else this.socket.destroy();
    const handlerError = handler && reader.callAtEnd(handler);
    if (handlerError) handler.onFailure({ kind: 'malformed', cause: handlerError.message });
  }

  onEnd(): void {
    if (!this.#reader.handler) {
      this.#noteLoss();
      this.socket.destroy();
    }
    // The other direction of a tunnel may still be open.
    else if (this.#reader.isTunnel) this.#reader.handler.onEnd([]);
    else if (this.#reader.endsWithConnection) this.#onResponse();
    else {
      this.#noteLoss();
      this.#fail('lost', 'closed by the target');
    }
  }

  onError(error: NodeJS.ErrnoException): void {
    this.#closeCause = error.message;
    if (error.code === 'EMFILE' || error.code === 'ENFILE') this.#failureOnClose = 'exhausted';
    else this.#noteLoss();
  }

  onClose(): void {
    unwatchDeadline(this);
    this.#readBuffer.release();
    this.#owner.onClose(this);
    if (this.#reader.handler) this.#fail(this.#failureOnClose, this.#closeCause);
  }

  /** At once, and not when the connection is closed: a connection that is made in between must know it. */
  #noteLoss(): void {
    if (this.#failureOnClose !== 'unresolved') this.#owner.onLost?.(this.#isConnected);
  }

  #fail(kind: WireFailureKind, cause: string): void {
    const handler = this.#reader.handler;
    this.destroy();
    handler?.onFailure({ kind, cause });
  }
}

/** Where to connect. `host`: a name, resolved for each connection, or an address without brackets. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly tls: ConnectionOptions | undefined;
  /** Replaces the system's resolver. Several addresses are tried one after the other. */
  readonly lookup?: LookupFunction;
  /** Asked when a connection is made: whether the address still belongs to the host. If not, nothing is sent. */
  readonly isCurrent?: (remoteAddress: string) => true | Promise<boolean>;
}

interface SocketEvents {
  /**
   * `length` bytes of `buffer` were read. They are valid only during the call. `copyIfShared` (readBuffer.ts) returns bytes that are
   * valid until the next read. False pauses reading until `resume`.
   */
  onRead(buffer: Buffer, length: number): boolean;
  /** The host name has an address, or several: called for each. */
  onResolved(): void;
  /** With TLS: the TCP connection is open, the handshake not complete. */
  onTcpConnected(): void;
  onConnected(): void;
  onEnd(): void;
  onError(error: Error): void;
  onClose(): void;
}

/** Opens a connection, with or without TLS. Without TLS, it reads into `readBuffer`. */
function openSocket(endpoint: Endpoint, events: SocketEvents, readBuffer: ReadBuffer): Socket {
  const socket = endpoint.tls ? connectSecure(endpoint, events) : connectPlain(endpoint, events, readBuffer);
  return socket
    .setNoDelay(true)
    .on('lookup', (error: Error | null) => {
      if (!error) events.onResolved();
    })
    .on('end', () => events.onEnd())
    .on('error', (error) => events.onError(lastOf(error)))
    .on('close', () => events.onClose());
}

function connectPlain({ host, port, lookup }: Endpoint, events: SocketEvents, { next }: ReadBuffer): Socket {
  const callback = (length: number, buffer: Uint8Array): boolean => events.onRead(buffer as Buffer, length);
  const socket = new TextSocket({ allowHalfOpen: true, onread: { buffer: next, callback } });
  socket.connect(lookup ? { host, port, lookup, autoSelectFamily: true } : { host, port });
  return socket.on('connect', () => events.onConnected());
}

function connectSecure({ host, port, tls, lookup }: Endpoint, events: SocketEvents): Socket {
  const lookupOptions = lookup && { lookup, autoSelectFamily: true };
  const socket = connectTls({ ...tls, host, port, ALPNProtocols: ['http/1.1'], ...lookupOptions });
  return socket
    .on('data', (chunk: Buffer) => {
      if (!events.onRead(chunk, chunk.length)) socket.pause();
    })
    .on('connect', () => events.onTcpConnected())
    .on('secureConnect', () => events.onConnected());
}

/** If several addresses were tried, Node's error has no message. Returns the error of the last address. */
function lastOf(error: Error): Error {
  const last: unknown = error instanceof AggregateError ? error.errors.at(-1) : undefined;
  return last instanceof Error ? last : error;
}
