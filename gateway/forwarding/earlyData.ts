import type { Socket } from 'node:net';

// Bytes kept in memory before the protocol is switched; more stays in the kernel.
const maxBytes = 64 * 1024;

/**
 * The bytes that a client sends after its upgrade request, before the response. The socket is read all the time, because
 * only reading detects that the client has disconnected.
 */
export class EarlyData {
  /** As in the Upgrade field of the request. */
  readonly protocol: string;
  readonly #socket: Socket;
  readonly #chunks: Buffer[];
  #size: number;
  #started = false;
  #clientEnded = false;

  /** `first`: the bytes after the request head that were read with it. */
  constructor(socket: Socket, first: Buffer, protocol: string) {
    this.protocol = protocol;
    this.#socket = socket;
    this.#chunks = [first];
    this.#size = first.length;
    socket.on('data', this.#onData).on('end', this.#onEnd);
  }

  /** Call this once all earlier requests on the connection are answered. A disconnect then ends the exchange. */
  start(): void {
    this.#started = true;
    if (this.#clientEnded) this.#socket.destroy();
  }

  /** Stops reading: from now on the caller reads the socket. */
  take(): Buffer {
    this.#socket.off('data', this.#onData).off('end', this.#onEnd);
    return Buffer.concat(this.#chunks);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size > maxBytes) this.#socket.pause();
  };

  readonly #onEnd = (): void => {
    this.#clientEnded = true;
    // Before `start`, earlier requests still have to be answered.
    if (this.#started) this.#socket.destroy();
  };
}
