import { connect, type LookupFunction, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { ReadBuffer } from './readBuffer.ts';

/** Where to connect. `host`: a name, resolved for each connection, or an address without brackets. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly tls: ConnectionOptions | undefined;
  /** Replaces the system's resolver. Several addresses are tried in turn. */
  readonly lookup?: LookupFunction;
}

export interface SocketEvents {
  /** `length` bytes of `buffer`; `bytesOf` returns them for longer than the call. False pauses reading until `resume`. */
  onRead(buffer: Buffer, length: number): boolean;
  /** With TLS: the TCP connection is open, the handshake not complete. */
  onTcpConnected(): void;
  onConnected(): void;
  onEnd(): void;
  onError(error: Error): void;
  onClose(): void;
}

/** Opens a connection, with or without TLS. Without TLS, it reads into `readBuffer`. */
export function openSocket(endpoint: Endpoint, events: SocketEvents, readBuffer: ReadBuffer): Socket {
  const socket = endpoint.tls ? connectSecure(endpoint, events) : connectPlain(endpoint, events, readBuffer);
  return socket
    .setNoDelay(true)
    .on('end', () => events.onEnd())
    .on('error', (error) => events.onError(lastOf(error)))
    .on('close', () => events.onClose());
}

function connectPlain({ host, port, lookup }: Endpoint, events: SocketEvents, { next }: ReadBuffer): Socket {
  const callback = (length: number, buffer: Uint8Array): boolean => events.onRead(buffer as Buffer, length);
  const options = { host, port, allowHalfOpen: true, onread: { buffer: next, callback } };
  const socket = connect(lookup ? { ...options, lookup, autoSelectFamily: true } : options);
  return socket.on('connect', () => events.onConnected());
}

function connectSecure({ host, port, tls, lookup }: Endpoint, events: SocketEvents): Socket {
  const several = lookup && { lookup, autoSelectFamily: true };
  const socket = connectTls({ ...tls, host, port, ALPNProtocols: ['http/1.1'], ...several });
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
