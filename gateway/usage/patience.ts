const firstPauseMs = 5_000;
const longestPauseMs = 60_000;

/** When to try again what has failed: at once, then after ever longer pauses, since a full disk stays full for a while. */
export class Patience {
  #failures = 0;
  #until = 0;

  /** Instants in epoch ms. */
  isPaused(now: number): boolean {
    // A clock that was set back must not make a pause of years.
    return now < this.#until && this.#until - now <= longestPauseMs;
  }

  failed(now: number): void {
    this.#failures += 1;
    this.#until = this.#failures === 1 ? 0 : now + Math.min(longestPauseMs, firstPauseMs * (this.#failures - 1));
  }

  worked(): void {
    this.#failures = 0;
    this.#until = 0;
  }
}
