import type { ExchangeRecord, Recorder } from './exchangeRecord.ts';

const mostWaiting = 128;
const longestWaitMs = 100;

/**
 * Hands on what became of exchanges, many at a time. By the next exchange the caches of a processor have forgotten how to
 * count and how to write lines: of many in a row, each costs a fraction of what it does alone.
 */
export class Batches implements Recorder {
  readonly #take: (facts: ExchangeRecord) => void;
  #waiting: ExchangeRecord[] = [];
  #isTimed = false;

  /** `take` must not throw: the others would be lost. */
  constructor(take: (facts: ExchangeRecord) => void) {
    this.#take = take;
  }

  record(facts: ExchangeRecord): void {
    if (this.#waiting.push(facts) >= mostWaiting) this.handOn();
    else if (!this.#isTimed) {
      this.#isTimed = true;
      setTimeout(() => this.#handOnInTime(), longestWaitMs).unref();
    }
  }

  /** All that waits, now: for who is about to look at what they come to. */
  handOn(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const facts of waiting) this.#take(facts);
  }

  #handOnInTime(): void {
    this.#isTimed = false;
    this.handOn();
  }
}
