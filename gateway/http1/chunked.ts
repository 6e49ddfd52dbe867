import { MalformedResponse, parseTrailers } from './responseHead.ts';

// The longest chunk size line, extensions included, and the longest trailer section, in bytes.
const maxSizeLineBytes = 1024;
const maxTrailerBytes = 16 * 1024;

// chunk-size [ chunk-ext ] (RFC 9112 §7.1). 13 hex digits stay below 2^53. White space around `;` and `=` is allowed.
const sizeLine = /^0*([0-9A-Fa-f]{1,13})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?$/;

type Expecting = 'size' | 'data' | 'data-end' | 'trailers' | 'nothing';

/** Decodes a chunked body strictly, so that no other server could read it differently (RFC 9112 §7.1). */
export class ChunkedDecoder {
  #expecting: Expecting = 'size';
  #line = '';
  #remainingBytes = 0;
  /** Set once the body is complete. */
  trailers: string[] | undefined;

  /**
   * Reads `buffer` from `start` to `end` and calls `emit` with the offsets of each piece of the body. Returns the offset
   * after the last byte that belongs to the body.
   * @throws MalformedResponse
   */
  read(buffer: Buffer, start: number, end: number, emit: (start: number, end: number) => void): number {
    let at = start;
    while (at < end && this.#expecting !== 'nothing') {
      if (this.#expecting === 'data') {
        const length = Math.min(this.#remainingBytes, end - at);
        emit(at, at + length);
        at += length;
        this.#remainingBytes -= length;
        if (this.#remainingBytes === 0) this.#expecting = 'data-end';
      } else {
        at = this.#readLine(buffer, at, end);
      }
    }
    return at;
  }

  /** A line may arrive in pieces: `#line` keeps its beginning. */
  #readLine(buffer: Buffer, start: number, end: number): number {
    const newline = buffer.subarray(start, end).indexOf(0x0a);
    const pieceEnd = newline === -1 ? end : start + newline + 1;
    const maxBytes = this.#expecting === 'trailers' ? maxTrailerBytes : maxSizeLineBytes;
    if (this.#line.length + pieceEnd - start > maxBytes) throw new MalformedResponse('a chunk line that is too long');
    this.#line += buffer.toString('latin1', start, pieceEnd);
    if (this.#line.endsWith('\n')) this.#onLine();
    return pieceEnd;
  }

  #onLine(): void {
    const line = this.#line;
    if (!line.endsWith('\r\n')) throw new MalformedResponse('a bare LF in a chunked body');
    switch (this.#expecting) {
      case 'size': {
        const size = sizeLine.exec(line.slice(0, -2))?.[1];
        if (size === undefined) throw new MalformedResponse('an invalid chunk size');
        this.#remainingBytes = Number.parseInt(size, 16);
        this.#expecting = this.#remainingBytes === 0 ? 'trailers' : 'data';
        break;
      }
      case 'data-end':
        if (line !== '\r\n') throw new MalformedResponse('a chunk that is longer than its size');
        this.#expecting = 'size';
        break;
      default:
        // Collects lines up to the blank one that ends the section.
        if (line !== '\r\n' && !line.endsWith('\r\n\r\n')) return;
        this.trailers = parseTrailers(line === '\r\n' ? '' : line.slice(0, -4));
        this.#expecting = 'nothing';
    }
    this.#line = '';
  }
}
