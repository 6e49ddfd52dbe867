/** How long to wait for an answer that needs no ledger, ms. */
const shortPatience = 10_000;
/** The gateway itself gives up a question to the ledger after 30 s in the queue and 30 s of work. */
export const ledgerPatience = 65_000;

/** Requests of which only the latest counts: each aborts the one before it. */
export class Latest {
  /** @type {AbortController|undefined} */
  #asked;
  #patience;

  /** @param {number} [patience] in ms */
  constructor(patience = shortPatience) {
    this.#patience = patience;
  }

  /** @returns {{ readonly signal: AbortSignal, readonly isOver: boolean }} `isOver`: another one was begun since */
  begin() {
    this.#asked?.abort();
    const mine = new AbortController();
    this.#asked = mine;
    return {
      signal: AbortSignal.any([mine.signal, AbortSignal.timeout(this.#patience)]),
      get isOver() {
        return mine.signal.aborted;
      },
    };
  }
}
