import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { ResponseHead } from '../../http1/responseHead.ts';

// Bytes kept in memory before the protocol is switched; more stays in the kernel.
const maxEarlyBytes = 64 * 1024;

/**
 * An upgrade that the target has not answered yet. Keeps the bytes that the client sends until then. The socket, or the stream of
 * HTTP/2, is read until `maxEarlyBytes` are kept, because only reading detects that the client has disconnected.
 */
export class PendingUpgrade {
  /** As in the Upgrade field of the request. */
  readonly protocol: string;
  readonly #socket: Duplex;
  readonly #webSocketKey: string | undefined;
  readonly #chunks: Buffer[];
  #size: number;
  #started = false;
  #clientEnded = false;

  /** `first`: the bytes after the request head that were read with it. `webSocketKey`: set if the gateway made the handshake. */
  constructor(socket: Duplex, first: Buffer, protocol: string, webSocketKey?: string) {
    this.#webSocketKey = webSocketKey;
    this.protocol = protocol;
    this.#socket = socket;
    this.#chunks = [first];
    this.#size = first.length;
    // A stream of HTTP/2 that the client ends before it sends anything has emitted `end` already.
    this.#clientEnded = socket.readableEnded;
    socket.on('data', this.#onData).on('end', this.#onEnd);
  }

  /** Call this once all earlier requests on the connection are answered. A disconnect then ends the exchange. */
  start(): void {
    this.#started = true;
    if (this.#clientEnded) this.#socket.destroy();
  }

  /** Whether a 101 answers the handshake (RFC 6455 §4.1). If the client made the handshake, the client checks this itself. */
  accepts({ names, fields }: ResponseHead): boolean {
    if (this.#webSocketKey === undefined) return true;
    const expected = createHash('sha1')
      .update(`${this.#webSocketKey}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    const at = names.indexOf('sec-websocket-accept');
    return at !== -1 && fields[at * 2 + 1] === expected;
  }

  /** Stops reading: from now on the caller reads the socket. */
  take(): Buffer {
    this.#socket.off('data', this.#onData).off('end', this.#onEnd);
    return Buffer.concat(this.#chunks);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size > maxEarlyBytes) this.#socket.pause();
  };

  readonly #onEnd = (): void => {
    this.#clientEnded = true;
    // Before `start`, earlier requests still have to be answered.
    if (this.#started) this.#socket.destroy();
  };
}
