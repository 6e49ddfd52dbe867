import type { Server } from 'node:http';
import type { Server as NetServer, Socket, SocketConstructorOpts } from 'node:net';
import { deadlineIn, type Timed, unwatchDeadline, watchDeadline } from '../../http1/deadlines.ts';
import { parsePlainRequest } from '../../http1/plainRequest.ts';
import { ReadBuffer } from '../../http1/readBuffer.ts';
import { keepAliveFieldsFor } from '../../http1/responseHead.ts';
import { TextSocket } from '../../http1/textSocket.ts';
import { lingerOnClose } from '../forwarding/lingering.ts';
import { Exchange, type GatewayContext } from './exchange.ts';
import { isForVersion } from './findVersion.ts';
import { runExchange } from './http.ts';
import { type LaneOwner, LaneRequest, LaneResponse } from './laneMessages.ts';
import { setCurrentResponse } from './pipeliningOrder.ts';
import { type ParserError, UnparsedBytes } from './readAhead.ts';

// Reading stops when this many bytes have arrived after a request in flight. Below this limit the socket is still read, because
// only reading detects that the client has disconnected.
const maxFollowingBytes = 64 * 1024;

// A body up to this size that arrives with its head is sent with its head, as one text. Node copies a longer text one time more.
const maxWholeBodyBytes = 8 * 1024;

// An idle connection is closed this much later than announced, because the next request may be on its way. As in node:http.
const keepAliveGraceMs = 1000;

type ConnectionListener = (this: Server, socket: Socket) => void;

/** The connections of a listener whose requests are read here, in front of the parser of node:http. */
interface FastLane {
  readonly server: Server;
  readonly context: GatewayContext;
  /** The listener of node:http, which takes over a connection and keeps it. */
  readonly onNodeConnection: ConnectionListener;
  readonly connections: Set<LaneConnection>;
}

/**
 * Reads the plain requests of `server` without node:http, to spend much less CPU time. The fast lane refuses nothing: a connection
 * with other bytes is handed over to node:http, for good and with these bytes. So node:http decides about everything unusual.
 */
export function openFastLane(server: Server, context: GatewayContext): void {
  const event = 'setSecureContext' in server ? 'secureConnection' : 'connection';
  const [onNodeConnection, ...others] = server.listeners(event) as ConnectionListener[];
  // With several listeners, it is not known which one belongs to node:http. Then node:http gets all connections.
  if (!onNodeConnection || others.length > 0) return;
  const lane: FastLane = { server, context, onNodeConnection, connections: new Set() };
  server.off(event, onNodeConnection);
  server.on(event, (socket: AcceptedSocket) => void new LaneConnection(socket, lane));
  const { closeIdleConnections, closeAllConnections } = server;
  server.closeIdleConnections = () => {
    for (const connection of lane.connections) if (connection.idle) connection.socket.destroy();
    closeIdleConnections.call(server);
  };
  server.closeAllConnections = () => {
    for (const connection of lane.connections) connection.socket.destroy();
    closeAllConnections.call(server);
  };
}

/** Undocumented properties of node's sockets. Without them `data` events are used, which allocate a buffer for each read. */
interface AcceptedSocket extends Socket {
  /** A Socket can be created from any handle; the types know only one kind. */
  _handle?: (NonNullable<SocketConstructorOpts['handle']> & { useUserBuffer?: unknown; reading?: boolean }) | null;
  _server?: NetServer | null;
  server: NetServer | null;
  /** Set by node:http. */
  readonly parser?: { onIncoming: ((...args: unknown[]) => number) | null } | null;
}

/**
 * - `open`: requests are read here
 * - `left`: the connection belongs to node:http
 * - `closing`: no request is read any more; received bytes are discarded
 */
type LaneState = 'open' | 'left' | 'closing';

/** One connection of a client, until it is handed over to node:http. */
class LaneConnection implements LaneOwner, Timed {
  deadline: number;
  readonly socket: AcceptedSocket;
  readonly #lane: FastLane;
  readonly #readBuffer = new ReadBuffer();
  #state: LaneState = 'open';
  /** Whether the connection has carried a request. */
  #hadRequest = false;
  #request: LaneRequest | undefined;
  #response: LaneResponse | undefined;
  /** What arrived after the current request. */
  #following: UnparsedBytes | undefined;
  #readingStopped = false;

  constructor(accepted: AcceptedSocket, lane: FastLane) {
    const { server } = lane;
    this.#lane = lane;
    this.socket = this.#withReadBuffer(accepted) ?? accepted.on('data', this.#onData);
    this.socket.on('end', this.#onEnd).on('timeout', this.#onTimeout).on('error', ignore).on('close', this.#onClose);
    const { headersTimeout, timeout } = server;
    // The deadline below is for the first head. A connection that is silent for longer than `timeout` is closed earlier.
    if (headersTimeout === 0 || headersTimeout > timeout) this.socket.setTimeout(timeout);
    this.deadline = deadlineIn(headersTimeout);
    lane.connections.add(this);
    watchDeadline(this);
    // With h2c, the first bytes were read to find the protocol, and put back. If `accepted` is kept, it emits them as `data`.
    const putBackBytes: Buffer | null = this.socket === accepted ? null : accepted.read();
    if (putBackBytes) this.#onData(putBackBytes);
  }

  /** Between two requests. As in node:http, a connection is not idle before its first request. */
  get idle(): boolean {
    return this.#state === 'open' && this.#hadRequest && this.#request === undefined;
  }

  get keepAliveFields(): string {
    return keepAliveFieldsFor(this.#lane.server.keepAliveTimeout);
  }

  startSlowClientTimeout(): void {
    if (!this.socket.timeout) this.socket.setTimeout(this.#lane.server.timeout);
  }

  setSendDeadline(ms = this.#lane.server.timeout): void {
    // Not a timer of the socket: over TLS, this is called for every response, and a timer costs time.
    this.deadline = deadlineIn(ms);
  }

  resumeReading(): void {
    if (!this.#readingStopped || this.#isFull) return;
    this.#readingStopped = false;
    this.socket.resume();
  }

  onResponseEnd(): void {
    const { socket } = this;
    const keepsAlive = this.#response?.shouldKeepAlive && this.#request?.complete && socket.writable;
    this.#request = undefined;
    this.#response = undefined;
    setCurrentResponse(socket, undefined);
    if (!keepsAlive) {
      this.#stopRequests();
      socket.destroySoon();
    } else if (this.#following) {
      this.#leave(this.#following.take());
    } else {
      const { keepAliveTimeout, timeout } = this.#lane.server;
      // Without a keep-alive limit, the connection may be idle for `timeout`, which is the longest `write_idle` of all versions.
      if (keepAliveTimeout === 0) socket.setTimeout(timeout);
      else if (socket.timeout) socket.setTimeout(0);
      this.deadline = deadlineIn(keepAliveTimeout > 0 ? keepAliveTimeout + keepAliveGraceMs : 0);
      this.resumeReading();
    }
  }

  onDeadline(): void {
    if (this.#hadRequest) this.socket.destroy();
    else {
      this.#stopRequests();
      this.#emitError('ERR_HTTP_REQUEST_TIMEOUT');
    }
  }

  /** Creates a socket from the handle of `accepted` that reads into our buffer. Undefined if Node does not support this. */
  #withReadBuffer(accepted: AcceptedSocket): AcceptedSocket | undefined {
    const { _handle: handle, _server: server } = accepted;
    if (typeof handle?.useUserBuffer !== 'function' || !handle.reading || !server || 'encrypted' in accepted) {
      return undefined;
    }
    const callback = (length: number, buffer: Uint8Array): boolean => this.#onRead(buffer as Buffer, length);
    const options = { handle, allowHalfOpen: true, onread: { buffer: this.#readBuffer.next, callback } };
    const socket = new TextSocket(options) as Socket as AcceptedSocket;
    // The server uses these two properties to count its connections.
    socket._server = server;
    socket.server = server;
    accepted._handle = null;
    return socket;
  }

  readonly #onData = (chunk: Buffer): void => {
    if (!this.#onRead(chunk, chunk.length)) this.socket.pause();
  };

  /** False stops reading until `resumeReading`. */
  #onRead(buffer: Buffer, length: number): boolean {
    if (this.#state === 'closing') return true;
    // node:http has the connection. Its parser reads the handle itself, except after an upgrade: then the bytes arrive here.
    if (this.#state === 'left') return this.socket.push(Buffer.from(buffer.subarray(0, length)));
    let flowing = true;
    if (this.#request) flowing = this.#readMore(this.#request, buffer, length);
    else this.#readRequest(buffer, length);
    this.#readingStopped ||= !flowing;
    return flowing;
  }

  #readRequest(buffer: Buffer, length: number): void {
    const { context } = this.#lane;
    const head = parsePlainRequest(buffer, length);
    if (!head || head.headLength + head.contentLength < length || !isForVersion(head.target, context.activeSnapshot)) {
      this.#leave(Buffer.from(buffer.subarray(0, length)));
      return;
    }
    const { headLength, contentLength } = head;
    const arrivedBodyBytes = length - headLength;
    const isWholeBody = arrivedBodyBytes === contentLength && arrivedBodyBytes <= maxWholeBodyBytes;
    const wholeBody = isWholeBody ? buffer.toString('latin1', headLength, length) : undefined;
    const request = new LaneRequest(head, this, wholeBody);
    const response = new LaneResponse(request, this);
    if (!isWholeBody && arrivedBodyBytes > 0) request.receive(buffer, headLength, length);
    if (this.socket.timeout) this.socket.setTimeout(0);
    this.#hadRequest = true;
    this.deadline = Number.POSITIVE_INFINITY;
    this.#request = request;
    this.#response = response;
    setCurrentResponse(this.socket, response);
    runExchange(new Exchange(request, response, context));
  }

  /** Passes on the rest of a body, and keeps pipelined bytes after it until the request is answered. False stops reading. */
  #readMore(request: LaneRequest, buffer: Buffer, length: number): boolean {
    const end = Math.min(length, request.missingBytes);
    const flowing = end === 0 || request.receive(buffer, 0, end);
    const isMoreExpected = !request.complete;
    const hasUnsentBytes = !flowing;
    this.#readBuffer.chooseNextBuffer(length, isMoreExpected, hasUnsentBytes);
    // After the last byte of a body, the socket is still read: only reading detects that the client has disconnected.
    if (end === length) return flowing || request.complete;
    this.#following ??= new UnparsedBytes();
    if (this.#following.add(buffer.subarray(end, length))) return !this.#isFull;
    // There is no memory for the bytes: the client sends them again on another connection (RFC 9112 §9.3.2).
    if (this.#response) this.#response.shouldKeepAlive = false;
    lingerOnClose(this.socket);
    return false;
  }

  get #isFull(): boolean {
    return this.#following !== undefined && this.#following.length >= maxFollowingBytes;
  }

  /** Hands over the connection to node:http. `bytes`: what was read of the next request. */
  #leave(bytes: Buffer): void {
    const { server, onNodeConnection } = this.#lane;
    const { socket } = this;
    this.#state = 'left';
    this.#lane.connections.delete(this);
    socket
      .off('data', this.#onData)
      .off('end', this.#onEnd)
      .off('timeout', this.#onTimeout)
      .off('error', ignore)
      .setTimeout(0);
    socket.pause();
    onNodeConnection.call(server, socket);
    socket.unshift(bytes);
    socket.resume();
    if (this.#hadRequest) unwatchDeadline(this);
    else this.#limitFirstHead();
  }

  /** Keeps the deadline of the first head. It began with the connection, not when node:http took over. */
  #limitFirstHead(): void {
    const { parser } = this.socket;
    const onIncoming = parser?.onIncoming;
    if (!parser || !onIncoming) return;
    parser.onIncoming = (...args) => {
      parser.onIncoming = onIncoming;
      unwatchDeadline(this);
      return onIncoming(...args);
    };
  }

  readonly #onEnd = (): void => {
    if (this.#state !== 'open') return;
    // A client that closes its side of the connection has left. If it closes its side within a body, that is a parser error.
    if (this.#request?.complete === false) this.#emitError('HPE_INVALID_EOF_STATE');
    else this.socket.end();
  };

  readonly #onTimeout = (): void => void this.#lane.server.emit('timeout', this.socket);

  readonly #onClose = (): void => {
    this.#stopRequests();
    this.#response?.emit('close');
  };

  /** Accepts no more requests. Does not close the socket. */
  #stopRequests(): void {
    this.#state = 'closing';
    this.#lane.connections.delete(this);
    this.#following?.take();
    this.#readBuffer.release();
    unwatchDeadline(this);
  }

  /** Reports an error like the parser of node:http. */
  #emitError(code: string): void {
    const error: ParserError = Object.assign(new Error(code), { code });
    this.#lane.server.emit('clientError', error, this.socket);
  }
}

function ignore(): void {}
