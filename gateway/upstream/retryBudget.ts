import type { RetrySettings } from '../config/snapshot.ts';

const windowSeconds = 10;

/**
 * Limits the retries of a version to a share of its requests. Without a limit, retries would multiply the load of a failing
 * target. All times are monotonic ms, from `performance.now()`.
 */
export class RetryBudget {
  /** Retries granted and refused since the start. */
  granted = 0;
  refused = 0;
  // Unlimited until `configure` is called.
  #share = 0;
  #perSecond = Number.POSITIVE_INFINITY;
  #second = 0;
  // One slot per second of the window, and the sums of all slots.
  readonly #requestsIn = new Uint32Array(windowSeconds);
  readonly #retriesIn = new Uint32Array(windowSeconds);
  #requests = 0;
  #retries = 0;

  configure({ budget, budgetMin }: Pick<RetrySettings, 'budget' | 'budgetMin'>): void {
    this.#share = budget;
    this.#perSecond = budgetMin;
  }

  /** Counts a request. */
  count(now: number): void {
    const slot = this.#slotAt(now);
    this.#requestsIn[slot] = (this.#requestsIn[slot] ?? 0) + 1;
    this.#requests += 1;
  }

  /** Takes a retry from the budget; false when it is used up. */
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
    if (second > this.#second) this.#advanceTo(second);
    return this.#second % windowSeconds;
  }

  /** Clears the slots that have left the window. */
  #advanceTo(second: number): void {
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
