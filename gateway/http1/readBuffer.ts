const bufferBytes = 64 * 1024;

// All sockets without TLS read into this buffer, so they need no buffer of their own. Each read is handled synchronously.
const sharedBuffer = Buffer.allocUnsafeSlow(bufferBytes);

// A body is sent from the buffer that it was read into, and the kernel may not accept all of it at once. So a socket that
// carries a large body gets a buffer of its own. These numbers limit the memory of a thread: 32 MiB in use, 4 MiB in reserve.
// A body without such a buffer is copied.
const maxBuffersInUse = 512;
const maxBuffersInReserve = 64;
const reserveBuffers: Buffer[] = [];
let buffersInUse = 0;

// A read of at least `largeReadBytes` announces a large body. Reads below `smallReadBytes` show that the body arrives slowly, so
// that copying costs little.
const largeReadBytes = 32 * 1024;
const smallReadBytes = 8 * 1024;

/** Bytes that were read, and that stay valid until the next read of the same socket. Bytes of the shared buffer are copied. */
export function copyIfShared(buffer: Buffer, start: number, end: number): Buffer {
  const bytes = buffer.subarray(start, end);
  return buffer === sharedBuffer ? Buffer.from(bytes) : bytes;
}

/** The buffer that a socket without TLS reads into: the shared one, or one of its own while it carries a large body. */
export class ReadBuffer {
  #own: Buffer | undefined;
  #needsOwn = false;

  /** For the option `onread` of node:net, which asks for the next buffer after each read. */
  readonly next = (): Buffer => {
    if (this.#needsOwn && buffersInUse < maxBuffersInUse) {
      this.#own = reserveBuffers.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
      buffersInUse += 1;
    }
    this.#needsOwn = false;
    return this.#own ?? sharedBuffer;
  };

  /**
   * Chooses the buffer of the next read, after a read of `length` bytes. `isMoreExpected`: more of a body follows. `hasUnsentBytes`:
   * some bytes of this read are not sent yet. If both are true, reading is paused until these bytes are sent.
   */
  chooseNextBuffer(length: number, isMoreExpected: boolean, hasUnsentBytes: boolean): void {
    if (!this.#own) this.#needsOwn = isMoreExpected && length >= largeReadBytes;
    else if (!isMoreExpected || (length < smallReadBytes && !hasUnsentBytes)) {
      if (!hasUnsentBytes && reserveBuffers.length < maxBuffersInReserve) reserveBuffers.push(this.#own);
      this.release();
    }
  }

  /** The socket no longer reads into its own buffer. Bytes in it may still be unsent, so the garbage collector frees the buffer. */
  release(): void {
    if (this.#own) buffersInUse -= 1;
    this.#own = undefined;
    this.#needsOwn = false;
  }
}
