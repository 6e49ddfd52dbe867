// While something fails, attempts pause, and the operator gets one notice.

/**
 * The pauses between failed attempts. The second attempt has no pause before it. Later pauses grow, because a full disk, for example,
 * usually stays full.
 */
export class RetryPause {
  readonly #firstMs: number;
  readonly #longestMs: number;
  #failures = 0;
  #until = 0;

  constructor(firstMs: number, longestMs: number) {
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
  }

  /** How long the pause still lasts, ms; 0: there is none. `now`: ms, always of the same clock. */
  leftMs(now: number): number {
    // If the clock was set back, the end of the pause may be years away.
    const left = this.#until - now;
    return left <= this.#longestMs ? Math.max(0, left) : 0;
  }

  failed(now: number): void {
    this.#failures += 1;
    this.#until = this.#failures === 1 ? 0 : now + Math.min(this.#longestMs, this.#firstMs * (this.#failures - 1));
  }

  succeeded(): void {
    this.#failures = 0;
    this.#until = 0;
  }
}

/** Tells the operator once when something fails, and once when it works again. */
export class OutageNotices {
  readonly tell: (notice: string) => void;
  #isOutage = false;

  constructor(tell: (notice: string) => void) {
    this.tell = tell;
  }

  failed(problem: string): void {
    if (!this.#isOutage) this.tell(problem);
    this.#isOutage = true;
  }

  recovered(notice: string): void {
    if (this.#isOutage) this.tell(notice);
    this.#isOutage = false;
  }
}
