import { randomBytes } from 'node:crypto';

const closeOpcode = 8;
// Status 1001, RFC 6455 §7.4.1: the endpoint is going away, for example because a server stops.
const goingAwayPayload = Buffer.from('\x03\xe9going away', 'latin1');

/**
 * Finds the frame boundaries in one direction of a WebSocket (RFC 6455 §5.2), because a frame of our own may be inserted
 * only between two frames. It reads the frame headers only, and keeps no bytes.
 */
export class FrameFollower {
  /** A Close frame has passed or is passing: it is the last of its direction (RFC 6455 §5.5.1). */
  hasSeenClose = false;
  #next: 'opcode' | 'length' | 'longLength' | 'rest' = 'opcode';
  // While a long length is read: how many of its bytes are still to come, and its value so far.
  #lengthBytesLeft = 0;
  #longLength = 0;
  #maskBytes = 0;
  // How many bytes of masking key and payload are still to come.
  #bytesLeft = 0;

  get isAtBoundary(): boolean {
    return this.#next === 'opcode';
  }

  /**
   * Reads `chunk` to its end, or with `onlyToBoundary` to the next frame boundary. Returns the offset after the last byte that was
   * read.
   */
  follow(chunk: Buffer, onlyToBoundary: boolean): number {
    let at = 0;
    while (at < chunk.length && !(onlyToBoundary && this.#next === 'opcode')) {
      if (this.#next === 'rest') {
        const passed = Math.min(this.#bytesLeft, chunk.length - at);
        at += passed;
        this.#expectRest(this.#bytesLeft - passed);
      } else {
        this.#readHeaderByte(chunk[at] as number);
        at += 1;
      }
    }
    return at;
  }

  #readHeaderByte(byte: number): void {
    if (this.#next === 'opcode') {
      if ((byte & 0x0f) === closeOpcode) this.hasSeenClose = true;
      this.#next = 'length';
    } else if (this.#next === 'length') {
      const length = byte & 0x7f;
      this.#maskBytes = byte & 0x80 ? 4 : 0;
      if (length < 126) {
        this.#expectRest(length + this.#maskBytes);
        return;
      }
      this.#lengthBytesLeft = length === 126 ? 2 : 8;
      this.#longLength = 0;
      this.#next = 'longLength';
    } else {
      // No shifts, which are limited to 32 bits. Lengths above 2^53 never arrive in practice.
      this.#longLength = this.#longLength * 256 + byte;
      this.#lengthBytesLeft -= 1;
      if (this.#lengthBytesLeft === 0) this.#expectRest(this.#longLength + this.#maskBytes);
    }
  }

  #expectRest(bytesLeft: number): void {
    this.#bytesLeft = bytesLeft;
    this.#next = bytesLeft === 0 ? 'opcode' : 'rest';
  }
}

/** A Close frame with status 1001. `masked`: required towards a server (RFC 6455 §5.1). */
export function goingAwayFrame(masked: boolean): Buffer {
  const head = Buffer.of(0x80 | closeOpcode, (masked ? 0x80 : 0) | goingAwayPayload.length);
  if (!masked) return Buffer.concat([head, goingAwayPayload]);
  // RFC 6455 §5.3: the key must be unpredictable.
  const key = randomBytes(4);
  return Buffer.concat([head, key, goingAwayPayload.map((byte, at) => byte ^ (key[at % 4] as number))]);
}
