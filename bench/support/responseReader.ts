/** Finds the end of each response on a keep-alive connection without pipelining. Parses only status and length. */
export class ResponseReader {
  status = 0;
  #head = '';
  /** Missing bytes of the body; undefined while the head is incomplete. */
  #left: number | undefined;
  #tail = '';

  /** Returns true once the response is complete. */
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

  /** Without a Content-Length the body is chunked. Its last chunk may be split over two reads. */
  #lastChunk(chunk: Buffer): boolean {
    if (this.#left !== Number.POSITIVE_INFINITY) return false;
    this.#tail = (this.#tail + chunk.subarray(-5).toString('latin1')).slice(-5);
    return this.#tail === '0\r\n\r\n';
  }
}
