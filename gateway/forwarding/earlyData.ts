import type { Socket } from 'node:net';

// Bytes kept in memory before the protocol is switched; more stays in the kernel.
const maxBytes = 64 * 1024;

/**
 * What a client sends behind its upgrade request, before the answer. The socket is read meanwhile, because only reading
 * notices a client that leaves.
 */
export class EarlyData {
  /** As in the Upgrade field of the request. */
  readonly protocol: string;
  readonly #socket: Socket;
  readonly #chunks: Buffer[];
  #size: number;
  #started = false;
  #clientEnded = false;

  /** `first`: the bytes that came together with the request. */
  constructor(socket: Socket, first: Buffer, protocol: string) {
    this.protocol = protocol;
    this.#socket = socket;
    this.#chunks = [first];
    this.#size = first.length;
    socket.on('data', this.#onData).on('end', this.#onEnd);
  }

  /** Earlier requests on the connection are answered. From now on the exchange ends if the client leaves. */
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
    // Earlier requests are still answered.
    if (this.#started) this.#socket.destroy();
  };
}
