import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { GatewaySettings } from '../../../config/snapshot.ts';
import { deadlineIn, type Timed, unwatchDeadline, watchDeadline } from '../../../http1/deadlines.ts';
import type { GatewayContext } from '../exchange.ts';
import type { ParserError } from '../readAhead.ts';
import { type ClientConnection, ClientSession, type SessionOwner, sessionOptions } from './clientSession.ts';

// RFC 9113 §3.4. No request of HTTP/1.1 begins like this.
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

type ConnectionListener = (this: Server, socket: Socket) => void;

/**
 * Accepts HTTP/2 on `server`: with TLS if ALPN has chosen it, without TLS if the connection begins with the preface. All
 * other connections go to the listener of HTTP/1.1, whose requests run through the same steps.
 */
export function openHttp2(server: Server, settings: GatewaySettings, context: GatewayContext): void {
  const event = settings.tls ? 'secureConnection' : 'connection';
  const [onHttp1] = server.listeners(event) as ConnectionListener[];
  if (!onHttp1) throw new Error('the server has no listener for HTTP/1.1 connections');
  const connections = new Set<ClientConnection>();
  const owner: SessionOwner = { server, context, options: sessionOptions(settings), connections };
  server.off(event, onHttp1);
  server.on(event, (socket: Socket) => {
    if (!settings.tls) new ProtocolDetector(socket, owner, onHttp1);
    else if ((socket as TLSSocket).alpnProtocol === 'h2') new ClientSession(socket, owner);
    else onHttp1.call(server, socket);
  });
  const { closeIdleConnections, closeAllConnections } = server;
  server.closeIdleConnections = () => {
    for (const connection of connections) connection.endGracefully();
    closeIdleConnections.call(server);
  };
  server.closeAllConnections = () => {
    for (const connection of connections) connection.destroy();
    closeAllConnections.call(server);
  };
}

/** Reads a connection without TLS until its protocol is known. */
class ProtocolDetector implements ClientConnection, Timed {
  deadline: number;
  readonly #socket: Socket;
  readonly #owner: SessionOwner;
  readonly #onHttp1: ConnectionListener;
  #received = Buffer.alloc(0);

  constructor(socket: Socket, owner: SessionOwner, onHttp1: ConnectionListener) {
    this.#socket = socket;
    this.#owner = owner;
    this.#onHttp1 = onHttp1;
    this.deadline = deadlineIn(owner.server.headersTimeout);
    socket.on('data', this.#onData).on('end', this.#onEnd).on('error', this.#onEnd).on('close', this.#stop);
    owner.connections.add(this);
    watchDeadline(this);
  }

  /** Does nothing: the connection has no request yet and may still send one, as in HTTP/1.1. */
  endGracefully(): void {}

  destroy(): void {
    this.#socket.destroy();
  }

  onDeadline(): void {
    this.#stop();
    const code = 'ERR_HTTP_REQUEST_TIMEOUT';
    const error: ParserError = Object.assign(new Error(code), { code });
    this.#owner.server.emit('clientError', error, this.#socket);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#received = Buffer.concat([this.#received, chunk]);
    const length = Math.min(this.#received.length, preface.length);
    const matches = this.#received.compare(preface, 0, length, 0, length) === 0;
    if (matches && length < preface.length) return;
    this.#stop();
    const socket = this.#socket;
    socket.pause();
    socket.unshift(this.#received);
    if (matches) new ClientSession(socket, this.#owner);
    else {
      this.#onHttp1.call(this.#owner.server, socket);
      socket.resume();
    }
  };

  readonly #onEnd = (): void => this.destroy();

  readonly #stop = (): void => {
    unwatchDeadline(this);
    this.#owner.connections.delete(this);
    this.#socket.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onEnd).off('close', this.#stop);
  };
}
