import { connect, type LookupFunction, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';

// All plain connections read into this one buffer: a read and its handling are one synchronous step,
// and whatever outlives it is copied. A buffer a connection would cost 64 KiB each.
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

export interface SocketEvents {
  /** `length` bytes of `buffer`, on loan for the duration of the call. False pauses reading until `resume`. */
  onRead(buffer: Buffer, length: number): boolean;
  /** Somebody is there, though with TLS it is not certain yet who. */
  onReached(): void;
  onConnected(): void;
  onDrain(): void;
  onEnd(): void;
  onError(error: Error): void;
  onClose(): void;
}

/** Opens a connection, in the clear or with TLS. */
export function openSocket(endpoint: Endpoint, events: SocketEvents): Socket {
  const socket = endpoint.tls ? secure(endpoint, events) : plain(endpoint, events);
  return socket
    .setNoDelay(true)
    .on('drain', () => events.onDrain())
    .on('end', () => events.onEnd())
    .on('error', (error) => events.onError(lastOf(error)))
    .on('close', () => events.onClose());
}

function plain({ host, port, lookup }: Endpoint, events: SocketEvents): Socket {
  const callback = (length: number, buffer: Uint8Array): boolean => events.onRead(buffer as Buffer, length);
  const options = { host, port, allowHalfOpen: true, onread: { buffer: readBuffer, callback } };
  const socket = connect(lookup ? { ...options, lookup, autoSelectFamily: true } : options);
  return socket.on('connect', () => events.onConnected());
}

function secure({ host, port, tls, lookup }: Endpoint, events: SocketEvents): Socket {
  const several = lookup && { lookup, autoSelectFamily: true };
  const socket = connectTls({ ...tls, host, port, ALPNProtocols: ['http/1.1'], ...several });
  return socket
    .on('data', (chunk: Buffer) => {
      if (!events.onRead(chunk, chunk.length)) socket.pause();
    })
    .on('connect', () => events.onReached())
    .on('secureConnect', () => events.onConnected());
}

/** Where several addresses were tried, node's error has no message of its own. */
function lastOf(error: Error): Error {
  const last: unknown = error instanceof AggregateError ? error.errors.at(-1) : undefined;
  return last instanceof Error ? last : error;
}

/** Where to connect. `host` is a name or an address without brackets; a name is resolved anew for each connection. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly tls: ConnectionOptions | undefined;
  /** Resolves `host` in the system's place. Where it gives several addresses, they are tried in turn. */
  readonly lookup?: LookupFunction;
}
