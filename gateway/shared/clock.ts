/** Where the time comes from: epoch milliseconds. Tests bring their own. */
export interface Clock {
  now(): number;
  /** Milliseconds of a clock that nobody can set. Without it, nothing notices that `now` was set. */
  monotonic?(): number;
}

export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now() };

const toleranceMs = 5_000;
// NTP slews a clock by at most half a millisecond a second. What is faster than this was set.
const slewPerMs = 0.001;

/** Notices that the wall clock was set: it moves otherwise than the monotonic clock, at once or in several small steps. */
export class ClockWatch {
  readonly #clock: Clock;
  #monotonic: number | undefined;
  /** How far the wall clock is ahead of the monotonic one. It follows a slew, and nothing faster. */
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#monotonic = clock.monotonic?.();
    this.#offset = clock.now() - (this.#monotonic ?? 0);
  }

  /**
   * `jump`: by how many ms the clock was set forward (or back, below 0), 0 for a few seconds or less; `elapsed`: how many
   * ms have really passed since the last look. While a machine sleeps, the monotonic clock of Linux stands still: that
   * is a jump, too.
   */
  look(): { readonly jump: number; readonly elapsed: number } {
    const monotonic = this.#clock.monotonic?.();
    if (monotonic === undefined) return { jump: 0, elapsed: 0 };
    const elapsed = monotonic - (this.#monotonic ?? monotonic);
    const offset = this.#clock.now() - monotonic;
    const moved = offset - this.#offset;
    const isSet = Math.abs(moved) > toleranceMs;
    const slew = elapsed * slewPerMs;
    this.#monotonic = monotonic;
    this.#offset = isSet ? offset : this.#offset + Math.min(slew, Math.max(-slew, moved));
    return { jump: isSet ? moved : 0, elapsed };
  }
}
