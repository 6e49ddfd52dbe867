/** Where the time comes from: epoch milliseconds. Tests bring their own. */
export interface Clock {
  now(): number;
  /** Milliseconds of a clock that nobody can set. Without it, nothing notices that `now` was set. */
  monotonic?(): number;
}

export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now() };

// NTP slews by at most half a millisecond a second, so between two looks it stays far below this.
const toleranceMs = 5_000;

/** Notices that the wall clock was set, which is when it moves otherwise than the monotonic clock. */
export class ClockWatch {
  readonly #clock: Clock;
  #now: number;
  #monotonic: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#now = clock.now();
    this.#monotonic = clock.monotonic?.();
  }

  /**
   * Since the last look: `jump`, by how many ms the clock was set forward (or back, below 0), 0 for a few seconds or
   * less; `elapsed`, how many ms have really passed. While a machine sleeps, the monotonic clock of Linux stands still:
   * that is a jump, too.
   */
  look(): { readonly jump: number; readonly elapsed: number } {
    const [now, monotonic] = [this.#clock.now(), this.#clock.monotonic?.()];
    const elapsed = monotonic === undefined ? 0 : monotonic - (this.#monotonic ?? monotonic);
    const moved = now - this.#now - elapsed;
    this.#now = now;
    this.#monotonic = monotonic;
    const isSet = monotonic !== undefined && Math.abs(moved) > toleranceMs;
    return { jump: isSet ? moved : 0, elapsed };
  }
}
