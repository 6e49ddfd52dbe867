/** A gateway that has not answered by then will not. */
const patience = 10_000;

/** Questions of which only the last counts: each gives up the one before it. */
export class Latest {
  /** @type {AbortController|undefined} */
  #asked;

  /** @returns {{ readonly signal: AbortSignal, readonly isOver: boolean }} `isOver`: another one was begun since */
  begin() {
    this.#asked?.abort();
    const mine = new AbortController();
    this.#asked = mine;
    return {
      signal: AbortSignal.any([mine.signal, AbortSignal.timeout(patience)]),
      get isOver() {
        return mine.signal.aborted;
      },
    };
  }
}
