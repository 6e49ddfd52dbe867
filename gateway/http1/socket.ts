import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Endpoint } from './endpoint.ts';

// All plain connections read into this one buffer: a read and its handling are one synchronous step,
// and whatever outlives it is copied. A buffer a connection would cost 64 KiB each.
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

export interface SocketEvents {
  /** `length` bytes of `buffer`, on loan for the duration of the call. False pauses reading until `resume`. */
  onRead(buffer: Buffer, length: number): boolean;
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
    .on('error', (error) => events.onError(error))
    .on('close', () => events.onClose());
}

function plain({ host, port }: Endpoint, events: SocketEvents): Socket {
  const callback = (length: number, buffer: Uint8Array): boolean => events.onRead(buffer as Buffer, length);
  return connect({ host, port, allowHalfOpen: true, onread: { buffer: readBuffer, callback } }).on('connect', () =>
    events.onConnected(),
  );
}

function secure({ host, port, tls }: Endpoint, events: SocketEvents): Socket {
  const socket = connectTls({ ...tls, host, port, ALPNProtocols: ['http/1.1'] });
  return socket
    .on('data', (chunk: Buffer) => {
      if (!events.onRead(chunk, chunk.length)) socket.pause();
    })
    .on('secureConnect', () => events.onConnected());
}
