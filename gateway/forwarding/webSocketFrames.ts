import { randomBytes } from 'node:crypto';

const closeOpcode = 8;
// RFC 6455 §7.4.1: an endpoint is going away, such as a server that goes down.
const goingAway = Buffer.from('\x03\xe9going away', 'latin1');

/**
 * Follows the frames in one direction of a WebSocket (RFC 6455 §5.2), because only between two of them may another one be
 * put. It looks at nothing but their headers, and keeps no bytes.
 */
export class FrameFollower {
  /** A Close has gone by, or is going by: it is the last frame of its direction (RFC 6455 §5.5.1). */
  closing = false;
  #next: 'opcode' | 'length' | 'longLength' | 'rest' = 'opcode';
  #lengthBytes = 0;
  #mask = 0;
  // Of a long length what has been read of it, of the rest what is still to come: masking key and payload.
  #size = 0;

  /** Nothing of a frame is outstanding. */
  get between(): boolean {
    return this.#next === 'opcode';
  }

  /** Follows `chunk` to its end, or with `toBoundary` until no frame is outstanding; returns how far that is. */
  follow(chunk: Buffer, toBoundary: boolean): number {
    let at = 0;
    while (at < chunk.length && !(toBoundary && this.#next === 'opcode')) {
      if (this.#next === 'rest') {
        const passed = Math.min(this.#size, chunk.length - at);
        at += passed;
        this.#rest(this.#size - passed);
      } else {
        this.#header(chunk[at] as number);
        at += 1;
      }
    }
    return at;
  }

  #header(byte: number): void {
    if (this.#next === 'opcode') {
      if ((byte & 0x0f) === closeOpcode) this.closing = true;
      this.#next = 'length';
    } else if (this.#next === 'length') {
      const length = byte & 0x7f;
      this.#mask = byte & 0x80 ? 4 : 0;
      if (length < 126) {
        this.#rest(length + this.#mask);
        return;
      }
      this.#lengthBytes = length === 126 ? 2 : 8;
      this.#size = 0;
      this.#next = 'longLength';
    } else {
      // No shifts: 64 bits do not fit them. What a double cannot hold exactly never arrives either.
      this.#size = this.#size * 256 + byte;
      this.#lengthBytes -= 1;
      if (this.#lengthBytes === 0) this.#rest(this.#size + this.#mask);
    }
  }

  #rest(size: number): void {
    this.#size = size;
    this.#next = size === 0 ? 'opcode' : 'rest';
  }
}

/** A Close that says 1001; `masked` as everything must be that goes to a server (RFC 6455 §5.1). */
export function goingAwayFrame(masked: boolean): Buffer {
  const head = Buffer.of(0x80 | closeOpcode, (masked ? 0x80 : 0) | goingAway.length);
  if (!masked) return Buffer.concat([head, goingAway]);
  // RFC 6455 §5.3: a key that cannot be foreseen.
  const key = randomBytes(4);
  return Buffer.concat([head, key, goingAway.map((byte, at) => byte ^ (key[at % 4] as number))]);
}
