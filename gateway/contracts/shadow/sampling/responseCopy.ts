import type { ResponseHead } from '../../../http1/responseHead.ts';
import type { ResponseObserver } from '../../../proxy/forwarding/outbound.ts';
import type { ShadowDrop } from './shadowBatch.ts';

/** The part of a response that is compared. */
export interface TakenResponse {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly body: Uint8Array;
}

// A response that takes longer is not compared. Its request would be copied too late, and fewer samples could be taken.
const longestResponseMs = 5_000;
// Answers to range requests and conditional requests (RFC 9110 §13, §14). The copied request asks for the whole response.
const partialStatuses: ReadonlySet<number> = new Set([206, 304, 412, 416]);

/** Copies a response while it is passed on to the client, up to a maximum size. */
export class ResponseCopy implements ResponseObserver {
  readonly #maxBytes: number;
  readonly #isHead: boolean;
  #onEnd: ((result: TakenResponse | ShadowDrop) => void) | undefined;
  #head: ResponseHead | undefined;
  #parts: (Buffer | string)[] = [];
  #length = 0;
  #isComplete = false;
  /** Monotonic ms. */
  readonly #clock: () => number;
  readonly #startedAt: number;

  /** `onEnd`: called once, with the response or with the reason why it is not compared. */
  constructor(
    method: string,
    maxBytes: number,
    clock: () => number,
    onEnd: (result: TakenResponse | ShadowDrop) => void,
  ) {
    this.#clock = clock;
    this.#startedAt = clock();
    this.#isHead = method === 'HEAD';
    this.#maxBytes = maxBytes;
    this.#onEnd = onEnd;
  }

  /** Ends the copy of a response that takes too long. @returns whether the response took too long */
  endIfSlow(): boolean {
    if (this.#clock() - this.#startedAt <= longestResponseMs) return false;
    this.#end('slow');
    return true;
  }

  onHead(head: ResponseHead): void {
    this.#head = head;
    if (head.status >= 500 || partialStatuses.has(head.status)) this.#end('status');
    else if (/^text\/event-stream\b/i.test(fieldOf(head, 'content-type') ?? '')) this.#end('stream');
    else if (!this.#isHead && head.contentLength > this.#maxBytes) this.#end('body');
  }

  onBody(part: Buffer | string): void {
    if (this.#onEnd === undefined || part.length === 0) return;
    this.#length += part.length;
    if (this.#length > this.#maxBytes) this.#end('body');
    else this.#parts.push(typeof part === 'string' ? part : Buffer.from(part));
  }

  onComplete(): void {
    this.#isComplete = true;
  }

  onClose(isDelivered: boolean): void {
    const head = this.#head;
    if (!head || !this.#isComplete || !isDelivered) {
      this.#end('incomplete');
      return;
    }
    if (this.endIfSlow()) return;
    const { status } = head;
    const [contentType, contentEncoding] = [fieldOf(head, 'content-type'), fieldOf(head, 'content-encoding')];
    this.#end({ status, contentType, contentEncoding, body: this.#body() });
  }

  /** A copy, because a Buffer may be a part of a larger ArrayBuffer, which would be sent as a whole to the other process or thread. */
  #body(): Uint8Array {
    const body = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      body.set(typeof part === 'string' ? Buffer.from(part, 'latin1') : part, at);
      at += part.length;
    }
    return body;
  }

  #end(result: TakenResponse | ShadowDrop): void {
    const onEnd = this.#onEnd;
    this.#onEnd = undefined;
    this.#parts = [];
    onEnd?.(result);
  }
}

function fieldOf({ names, fields }: ResponseHead, name: string): string | undefined {
  const at = names.indexOf(name);
  return at === -1 ? undefined : fields[at * 2 + 1];
}
