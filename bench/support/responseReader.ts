/** Finds the end of each response on a keep-alive connection without pipelining. Parses only the status and the Content-Length. */
export class ResponseReader {
  status = 0;
  #head = '';
  /** Missing bytes of the body; undefined while the head is incomplete. */
  #missingBytes: number | undefined;
  /** The last five characters of the body so far. */
  #tail = '';

  /** Returns true once the response is complete. */
  take(chunk: Buffer): boolean {
    let bodyBytes = chunk.length;
    if (this.#missingBytes === undefined) {
      const earlierLength = this.#head.length;
      this.#head += chunk.toString('latin1');
      const headEnd = this.#head.indexOf('\r\n\r\n');
      if (headEnd < 0) return false;
      this.status = Number(this.#head.slice(9, 12));
      const contentLength = /\r\ncontent-length: *(\d+)/i.exec(this.#head.slice(0, headEnd))?.[1];
      this.#missingBytes = contentLength === undefined ? Number.POSITIVE_INFINITY : Number(contentLength);
      bodyBytes = earlierLength + chunk.length - (headEnd + 4);
    }
    this.#missingBytes -= bodyBytes;
    const body = chunk.subarray(chunk.length - bodyBytes);
    if (this.#missingBytes > 0 && !this.#endsWithLastChunk(body)) return false;
    this.#head = '';
    this.#tail = '';
    this.#missingBytes = undefined;
    return true;
  }

  /** Without a Content-Length the body is chunked. Its last chunk may be split over two reads. */
  #endsWithLastChunk(body: Buffer): boolean {
    if (this.#missingBytes !== Number.POSITIVE_INFINITY) return false;
    this.#tail = (this.#tail + body.subarray(-5).toString('latin1')).slice(-5);
    return this.#tail === '0\r\n\r\n';
  }
}
