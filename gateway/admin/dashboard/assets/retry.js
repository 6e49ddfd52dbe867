import { Refused } from './api.js';

const [shortest, longest] = [2_000, 30_000];

/** Runs something again after a failure: soon at first, then less and less often. */
export class Retry {
  #again;
  #pause = shortest;
  /** @type {number|undefined} */
  #timer;

  /** @param {() => void} again */
  constructor(again) {
    this.#again = again;
  }

  /** @param {unknown} error */
  failed(error) {
    clearTimeout(this.#timer);
    // Any other refusal stays the same until something changes.
    if (error instanceof Refused && error.code !== 'LEDGER_UNANSWERED') return;
    this.#timer = setTimeout(this.#again, this.#pause);
    this.#pause = Math.min(longest, this.#pause * 2);
  }

  worked() {
    clearTimeout(this.#timer);
    this.#pause = shortest;
  }
}
