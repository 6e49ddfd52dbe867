import type { LookupFunction, Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { deadlineIn, type Timed, unwatchDeadline, watchDeadline } from './deadlines.ts';
import { ReadBuffer } from './readBuffer.ts';
import { ResponseHeads } from './responseHead.ts';
import { type ResponseHandler, ResponseReader, type WireFailureKind } from './responseReader.ts';
import { TextSocket, writeText } from './textSocket.ts';

interface ConnectionOwner {
  /** Parses the heads of its connections, which come from one target. */
  readonly heads: ResponseHeads;
  /** `announced`: how long the target keeps the connection open, according to its Keep-Alive field, ms. */
  onIdle(connection: Connection, announced: number | undefined): void;
  onClose(connection: Connection): void;
}

/** A connection to a target. It carries one exchange at a time, and is idle in its pool in between. */
export class Connection implements Timed, SocketEvents {
  deadline = Number.POSITIVE_INFINITY;
  /** How many exchanges came before the current one. If above 0, the target may have closed the connection while it was idle. */
  earlierExchanges = -1;
  /** For writing bodies and for pausing. Only this class reads from it. */
  readonly socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #reader: ResponseReader;
  readonly #readBuffer = new ReadBuffer();
  /** The kind of failure if the connection closes now. */
  #failureOnClose: 'unreachable' | 'exhausted' | 'untrusted' | 'lost' = 'unreachable';
  #requestSent = false;
  #idleTimeout = 0;
  #closeCause = 'closed';

  constructor(endpoint: Endpoint, connectTimeout: number, owner: ConnectionOwner) {
    this.#owner = owner;
    this.#reader = new ResponseReader(owner.heads);
    this.deadline = deadlineIn(connectTimeout);
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
    writeText(this.socket, head);
    if (!this.#isConnected) return;
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
    if (this.#reader.handler) this.#fail(this.#isConnected ? 'timeout' : 'connect-timeout', 'timed out');
    else this.destroy();
  }

  onTcpConnected(): void {
    this.#failureOnClose = 'untrusted';
  }

  onConnected(): void {
    this.#failureOnClose = 'lost';
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
    if (!this.#reader.handler) this.socket.destroy();
    // The other direction of a tunnel may still be open.
    else if (this.#reader.isTunnel) this.#reader.handler.onEnd([]);
    else if (this.#reader.endsWithConnection) this.#onResponse();
    else this.#fail('lost', 'closed by the target');
  }

  onError(error: NodeJS.ErrnoException): void {
    this.#closeCause = error.message;
    if (error.code === 'EMFILE' || error.code === 'ENFILE') this.#failureOnClose = 'exhausted';
  }

  onClose(): void {
    unwatchDeadline(this);
    this.#readBuffer.release();
    this.#owner.onClose(this);
    if (this.#reader.handler) this.#fail(this.#failureOnClose, this.#closeCause);
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
}

interface SocketEvents {
  /**
   * `length` bytes of `buffer` were read. They are valid only during the call. `copyIfShared` (readBuffer.ts) returns bytes that are
   * valid until the next read. False pauses reading until `resume`.
   */
  onRead(buffer: Buffer, length: number): boolean;
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

// Idle connections are closed this long before the announced time, so that no request is sent while the target closes them.
const closeEarlyMs = 1000;

/** The connections to one target. Their number is not limited here: `limits` of the version are checked before. */
export class ConnectionPool implements ConnectionOwner {
  readonly heads = new ResponseHeads();
  readonly #endpoint: Endpoint;
  #size = 0;
  // The connection that became idle last is reused first, so that surplus connections time out.
  readonly #idle: Connection[] = [];
  /** How long an idle connection is kept, ms; 0: no limit. */
  keepAlive: number;
  #closing = false;

  constructor(endpoint: Endpoint, keepAlive: number) {
    this.#endpoint = endpoint;
    this.keepAlive = keepAlive;
  }

  get size(): number {
    return this.#size;
  }

  /** An idle connection that is still open. */
  reuse(): Connection | undefined {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (!idle.closed) return idle;
    return undefined;
  }

  /** An idle connection, or a new one that must connect within `timeout` ms. */
  acquire(timeout: number): Connection {
    return this.reuse() ?? this.connect(timeout);
  }

  connect(timeout: number): Connection {
    this.#size += 1;
    return new Connection(this.#endpoint, timeout, this);
  }

  onIdle(connection: Connection, announced: number | undefined): void {
    const usableMs = announced === undefined ? Number.POSITIVE_INFINITY : announced - closeEarlyMs;
    if (this.#closing || usableMs <= 0) {
      connection.destroy();
      return;
    }
    connection.deadline = performance.now() + Math.min(this.keepAlive || Number.POSITIVE_INFINITY, usableMs);
    this.#idle.push(connection);
  }

  onClose(connection: Connection): void {
    this.#size -= 1;
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
  }

  /** Closes idle connections now, and the others when their exchange ends. */
  close(): void {
    this.#closing = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }
}
