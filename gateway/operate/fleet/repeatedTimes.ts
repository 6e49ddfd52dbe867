import { type Clock, systemClock } from '../../shared/clock.ts';

// Two readings of the clocks, one after the other, may differ by as much although no clock was set.
const toleranceMs = 10;

/** Times that the clock has shown twice, epoch ms. */
interface Repeated {
  readonly from: number;
  readonly until: number;
}

/** The times that the clock of this machine has shown twice, because it was set back. An instant among them may be the earlier one or the later one. */
export class RepeatedTimes {
  readonly #clock: Clock;
  /** The clocks at the last call of `watch`. */
  #last: { readonly now: number; readonly monotonic: number };
  #repeated: Repeated | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
    this.#last = this.#read();
  }

  /** Looks whether the clock was set back. To be called before a time is compared, and often enough that a change is noticed. */
  watch(): void {
    const { now, monotonic } = this.#read();
    const elapsed = monotonic - this.#last.monotonic;
    if (now - this.#last.now < elapsed - toleranceMs) {
      // It is not known when it was set since the last call.
      const { from, until } = this.#repeated ?? { from: Number.POSITIVE_INFINITY, until: Number.NEGATIVE_INFINITY };
      this.#repeated = {
        from: Math.min(from, Math.floor(now - elapsed)),
        until: Math.max(until, Math.ceil(this.#last.now + elapsed)),
      };
    }
    this.#last = { now, monotonic };
  }

  /** The earliest time, by the clock as it is set now, that `at` may be. `at`: epoch ms, by the clock as it was set then. */
  earliest(at: number): number {
    const { from, until } = this.#repeated ?? { from: at, until: at };
    return at > from && at <= until ? from : at;
  }

  #read(): { readonly now: number; readonly monotonic: number } {
    const monotonic = this.#clock.monotonic?.() ?? 0;
    return { now: this.#clock.now(), monotonic };
  }
}
