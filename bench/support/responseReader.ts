/** Finds the end of each answer on a keep-alive connection without requests in advance: status and length, no more. */
export class AnswerReader {
  status = 0;
  #head = '';
  /** Bytes of the body still to come; undefined while the head is incomplete. */
  #left: number | undefined;
  #tail = '';

  /** True once the answer is complete; the next one may then begin. */
  take(chunk: Buffer): boolean {
    let bodyBytes = chunk.length;
    if (this.#left === undefined) {
      const before = this.#head.length;
      this.#head += chunk.toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return false;
      this.status = Number(this.#head.slice(9, 12));
      const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head.slice(0, end))?.[1];
      this.#left = length === undefined ? Number.POSITIVE_INFINITY : Number(length);
      bodyBytes = before + chunk.length - (end + 4);
    }
    this.#left -= bodyBytes;
    if (this.#left > 0 && !this.#lastChunk(chunk)) return false;
    this.#head = '';
    this.#left = undefined;
    return true;
  }

  /** Without a length the body is chunked, and the zero chunk ends it, perhaps split over two reads. */
  #lastChunk(chunk: Buffer): boolean {
    if (this.#left !== Number.POSITIVE_INFINITY) return false;
    this.#tail = (this.#tail + chunk.subarray(-5).toString('latin1')).slice(-5);
    return this.#tail === '0\r\n\r\n';
  }
}
