import type { Server } from 'node:http';
import type { ServerHttp2Session, ServerHttp2Stream, ServerSessionOptions } from 'node:http2';
import type { Socket } from 'node:net';
import type { GatewaySettings } from '../../../config/snapshot.ts';
import { deadlineIn, type Timed, unwatchDeadline, watchDeadline } from '../../../http1/deadlines.ts';
import { PendingUpgrade } from '../../forwarding/pendingUpgrade.ts';
import { ConnectionLoad } from '../../upstream/targetLimits.ts';
import { Exchange, type GatewayContext } from '../exchange.ts';
import { runExchange } from '../http.ts';
import { Http2Request, Http2Response, type StreamOwner } from './messages.ts';
import { translateHead } from './requestHead.ts';

// Error codes of RFC 9113 §7.
const noError = 0;
const protocolError = 1;
const enhanceYourCalm = 11;

const maxStreams = 100;
// How many bytes one stream may send before they are read: node:http2's default. The window of the connection has room for
// all streams, so that a stream that is not read blocks no other stream.
const streamWindowBytes = 65_535;
// Above our own limit of 1,000 fields, so that the answer is 431.
const maxFieldLines = 1100;
// How often a connection is checked for time limits and for rejected heads.
const checkIntervalMs = 500;
// How long a client has to close its side of a connection that was ended. Also how long a reset may stay unsent because the
// client does not read.
const lingerMs = 2000;
const highestStreamId = 2 ** 31 - 1;
const noBytes = Buffer.alloc(0);

/** A connection that node:http does not know. */
export interface ClientConnection {
  /** Called when the gateway stops. Requests that have arrived are still answered. */
  endGracefully(): void;
  destroy(): void;
}

/** The server that accepted a connection, and what its connections share. */
export interface SessionOwner {
  /** Has the timeouts that apply, which a reload may change. */
  readonly server: Server;
  readonly context: GatewayContext;
  readonly options: ServerSessionOptions;
  readonly connections: Set<ClientConnection>;
}

/** A limit of `burst` events, of which `perSecond` are forgotten every second. */
class EventBudget {
  #left: number;
  #updatedAt = performance.now();
  readonly #burst: number;
  readonly #perSecond: number;

  constructor(burst: number, perSecond: number) {
    this.#left = burst;
    this.#burst = burst;
    this.#perSecond = perSecond;
  }

  /** False: too many events. */
  spend(count: number): boolean {
    const now = performance.now();
    this.#left = Math.min(this.#burst, this.#left + ((now - this.#updatedAt) * this.#perSecond) / 1000) - count;
    this.#updatedAt = now;
    return this.#left >= 0;
  }
}

/** The options of node:http2 for every connection. */
export function sessionOptions({ limits }: GatewaySettings): ServerSessionOptions {
  return {
    settings: {
      maxConcurrentStreams: maxStreams,
      initialWindowSize: streamWindowBytes,
      enableConnectProtocol: true,
      // Above our own limits, so that our answer names the limit that was reached. A larger head resets its stream.
      maxHeaderListSize: limits.head + limits.url + 8 * 1024 + 32 * maxFieldLines,
    },
    maxHeaderListPairs: maxFieldLines,
    // Heads of backends have up to 32 KiB, and the gateway adds fields.
    maxSendHeaderBlockLength: 256 * 1024,
    // Our own limit, `#wastedStreams`, is checked only after all bytes of one read from the socket are handled. The following
    // limits also apply meanwhile.
    streamResetBurst: 250,
    streamResetRate: 33,
    // A backend may repeat any field.
    strictSingleValueFields: false,
  };
}

/** One HTTP/2 connection of a client. */
export class ClientSession implements ClientConnection, StreamOwner, Timed {
  deadline = deadlineIn(checkIntervalMs);
  readonly #socket: Socket;
  readonly #owner: SessionOwner;
  readonly #session: ServerHttp2Session;
  /** Streams whose request has arrived in this turn of the event loop. */
  #arrived: { readonly stream: ServerHttp2Stream; readonly fields: string[] }[] = [];
  readonly #responses: Http2Response[] = [];
  readonly #load = new ConnectionLoad();
  /** How many streams were counted: those that node:http2 has reported, and those that it has rejected. */
  #countedStreams = 0;
  /** Whether a request has arrived on this connection. */
  #hadRequest = false;
  /** Since when no stream is open, by `performance.now()`. */
  #idleSince = performance.now();
  /** When `endGracefully` was called first, by `performance.now()`. */
  #endingSince: number | undefined;
  /** Whether GOAWAY was sent. */
  #endAnnounced = false;
  #bytesRead = 0;
  // Streams that end without a complete response: refused, reset, or with a malformed head. Each may have cost a request to
  // a backend. A browser that leaves a page resets all its streams at once.
  readonly #wastedStreams = new EventBudget(2 * maxStreams, 33);
  // PING and SETTINGS, which node:http2 answers.
  readonly #controlFrames = new EventBudget(500, 50);

  constructor(socket: Socket, owner: SessionOwner) {
    const http2 = process.getBuiltinModule('node:http2');
    this.#socket = socket;
    this.#owner = owner;
    const onControlFrame = (): void => this.#spend(this.#controlFrames, 1);
    this.#session = http2
      .performServerHandshake(socket, owner.options)
      .on('stream', (stream, _headers, _flags, fields) => this.#onStream(stream, fields))
      .on('ping', onControlFrame)
      .on('remoteSettings', onControlFrame)
      .on('error', ignore);
    this.#session.setLocalWindowSize(maxStreams * streamWindowBytes);
    // As in HTTP/1.1, a client that closes its sending side counts as disconnected, so its responses are not sent.
    socket.on('end', () => this.destroy()).on('close', () => this.#onClose());
    owner.connections.add(this);
    watchDeadline(this);
  }

  announceEnd(): void {
    if (this.#endAnnounced || this.#session.destroyed) return;
    this.#endAnnounced = true;
    // Streams that are already on their way are still accepted (RFC 9113 §6.8).
    this.#session.goaway(noError, highestStreamId);
  }

  /** Sends GOAWAY. Open streams finish; then the connection is closed. */
  endGracefully(): void {
    this.#endAnnounced = true;
    this.#endingSince ??= performance.now();
    this.#session.close();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  onResponseClosed(response: Http2Response): void {
    const last = this.#responses.pop() as Http2Response;
    if (last !== response) {
      this.#responses[response.index] = last;
      last.index = response.index;
    }
    if (this.#responses.length === 0) this.#idleSince = performance.now();
    // `resetAt` is set if the gateway has reset the stream itself.
    if (!response.writableFinished && response.resetAt === undefined) this.#spend(this.#wastedStreams, 1);
  }

  onDeadline(): void {
    this.deadline = deadlineIn(checkIntervalMs);
    const now = performance.now();
    this.#resetUnreadResponses(now);
    // Flow control does not delay a reset. If a reset is still not sent, the client does not read the connection at all.
    if (this.#responses.some(({ resetAt = now }) => now - resetAt > lingerMs)) this.destroy();
    this.#countRejected();
    const isIdle = this.#responses.length === 0;
    if (this.#endingSince !== undefined) {
      if (isIdle && now - Math.max(this.#endingSince, this.#idleSince) > lingerMs) this.destroy();
      return;
    }
    const { keepAliveTimeout, headersTimeout } = this.#owner.server;
    const maxIdleMs = this.#hadRequest ? keepAliveTimeout : headersTimeout;
    if (isIdle && maxIdleMs > 0 && now - this.#idleSince > maxIdleMs) this.endGracefully();
  }

  #onStream(stream: ServerHttp2Stream, fields: string[]): void {
    this.#countedStreams += 1;
    this.#hadRequest = true;
    // Added at once: the stream may fail before it is started, and an `error` event without a listener ends the process.
    stream.on('error', ignore);
    // A client can reset a stream with the next bytes. Such a stream must not reach a backend, so all that was read is
    // handled first.
    if (this.#arrived.length === 0) setImmediate(() => this.#startArrived());
    this.#arrived.push({ stream, fields });
  }

  #startArrived(): void {
    const arrived = this.#arrived;
    this.#arrived = [];
    for (const { stream, fields } of arrived) this.#start(stream, fields);
  }

  #start(stream: ServerHttp2Stream, raw: string[]): void {
    if (stream.closed || stream.destroyed) {
      this.#spend(this.#wastedStreams, 1);
      return;
    }
    const hasBody = !stream.endAfterHeaders;
    const head = translateHead(raw, hasBody);
    if (!head) {
      stream.close(protocolError);
      this.#spend(this.#wastedStreams, 1);
      return;
    }
    const { expectsContinue, webSocketKey } = head;
    const opensWebSocket = webSocketKey !== undefined;
    const response = new Http2Response(stream, this, opensWebSocket);
    response.index = this.#responses.push(response) - 1;
    const request = new Http2Request(stream, head, this.#socket, this.#load);
    const upgrade =
      webSocketKey === undefined ? undefined : new PendingUpgrade(stream, noBytes, 'websocket', webSocketKey);
    // In HTTP/2, no earlier request on the connection delays the upgrade.
    upgrade?.start();
    runExchange(new Exchange(request, response, this.#owner.context, expectsContinue, upgrade));
  }

  /** Takes `count` from the budget, and closes the connection if the client has exceeded it. */
  #spend(budget: EventBudget, count: number): void {
    if (!budget.spend(count) && !this.#session.destroyed)
      this.#session.destroy(new Error('the client causes too much work'), enhanceYourCalm);
  }

  /** Counts the streams whose heads node:http2 has rejected: it does not report these. */
  #countRejected(): void {
    const { bytesRead } = this.#socket;
    if (bytesRead === this.#bytesRead || this.#session.destroyed) return;
    this.#bytesRead = bytesRead;
    // The streams of a client have odd numbers.
    const opened = ((this.#session.state.lastProcStreamID ?? 0) + 1) >> 1;
    const rejected = opened - this.#countedStreams;
    this.#countedStreams += Math.max(0, rejected);
    if (rejected > 0) this.#spend(this.#wastedStreams, rejected);
  }

  /** Resets complete responses that the client does not read. Forwarding watches incomplete ones. */
  #resetUnreadResponses(now: number): void {
    const { timeout } = this.#owner.server;
    if (timeout === 0) return;
    for (let at = this.#responses.length - 1; at >= 0; at -= 1) {
      const response = this.#responses[at];
      if (!response?.isUnsent) continue;
      response.unsentSince ??= now;
      if (now - response.unsentSince > timeout) response.destroy();
    }
  }

  #onClose(): void {
    this.#owner.connections.delete(this);
    unwatchDeadline(this);
  }
}

function ignore(): void {}
