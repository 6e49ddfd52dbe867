import type { RetrySettings } from '../config/snapshot.ts';

const windowSeconds = 10;

/**
 * How many second tries a version may cause: without a bound, a target in trouble would get more requests the worse it
 * is. All instants are steady milliseconds, of `performance.now()`.
 */
export class RetryBudget {
  /** Since the start: those that were granted, and those that were not. */
  granted = 0;
  refused = 0;
  // Nothing is refused before a version says how much may be spent.
  #share = 0;
  #perSecond = Number.POSITIVE_INFINITY;
  #second = 0;
  // One slot a second of the window, and their sums.
  readonly #requestsIn = new Uint32Array(windowSeconds);
  readonly #retriesIn = new Uint32Array(windowSeconds);
  #requests = 0;
  #retries = 0;

  configure({ budget, budgetMin }: Pick<RetrySettings, 'budget' | 'budgetMin'>): void {
    this.#share = budget;
    this.#perSecond = budgetMin;
  }

  /** A request has come. */
  count(now: number): void {
    const slot = this.#slotAt(now);
    this.#requestsIn[slot] = (this.#requestsIn[slot] ?? 0) + 1;
    this.#requests += 1;
  }

  /** Takes a retry from the budget; false when it is spent. */
  take(now: number): boolean {
    const slot = this.#slotAt(now);
    if (this.#retries + 1 > this.#requests * this.#share + this.#perSecond * windowSeconds) {
      this.refused += 1;
      return false;
    }
    this.#retriesIn[slot] = (this.#retriesIn[slot] ?? 0) + 1;
    this.#retries += 1;
    this.granted += 1;
    return true;
  }

  #slotAt(now: number): number {
    const second = Math.floor(now / 1000);
    if (second > this.#second) this.#turnTo(second);
    return this.#second % windowSeconds;
  }

  /** Forgets what has left the window. */
  #turnTo(second: number): void {
    const passed = Math.min(second - this.#second, windowSeconds);
    for (let one = second - passed + 1; one <= second; one += 1) {
      const slot = one % windowSeconds;
      this.#requests -= this.#requestsIn[slot] ?? 0;
      this.#retries -= this.#retriesIn[slot] ?? 0;
      this.#requestsIn[slot] = 0;
      this.#retriesIn[slot] = 0;
    }
    this.#second = second;
  }
}
