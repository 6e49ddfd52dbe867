/** The source of time, in epoch ms. Tests replace it. */
export interface Clock {
  now(): number;
  /**
   * A clock that cannot be set, in ms. It is the same for all processes until the machine restarts. Without it a change of `now` is not
   * detected.
   */
  monotonic?(): number;
}

const nsPerMs = 1e6;

export const systemClock: Clock = { now: Date.now, monotonic: () => Number(process.hrtime.bigint()) / nsPerMs };

/** A smaller change of the wall clock is tolerated. */
export const jumpToleranceMs = 5_000;
// How fast `#offset` follows the wall clock, in ms per ms. NTP adjusts a clock by at most 0.5 ms per second, which is half of
// this. A faster change is followed only in part. The rest adds up, and above `jumpToleranceMs` it counts as a jump.
const slewPerMs = 0.001;

/** Detects that the wall clock was set, by comparing it with the monotonic clock. */
export class ClockWatch {
  readonly #clock: Clock;
  /** The monotonic clock at the last call. */
  #monotonic: number | undefined;
  /** The wall clock minus the monotonic one. Follows slow adjustments only. */
  #offset: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#monotonic = clock.monotonic?.();
    this.#offset = clock.now() - (this.#monotonic ?? 0);
  }

  /**
   * `jump`: by how many ms the clock was set forward (below 0: back); 0 for changes of a few seconds. `elapsed`: the real
   * time since the last call, ms. While a machine sleeps, the monotonic clock of Linux stops, so the sleep is a jump, too.
   */
  measure(): { readonly jump: number; readonly elapsed: number } {
    const monotonic = this.#clock.monotonic?.();
    if (monotonic === undefined) return { jump: 0, elapsed: 0 };
    const elapsed = monotonic - (this.#monotonic ?? monotonic);
    const offset = this.#clock.now() - monotonic;
    const moved = offset - this.#offset;
    const wasSet = Math.abs(moved) > jumpToleranceMs;
    const maxSlew = elapsed * slewPerMs;
    this.#monotonic = monotonic;
    this.#offset = wasSet ? offset : this.#offset + Math.min(maxSlew, Math.max(-maxSlew, moved));
    return { jump: wasSet ? moved : 0, elapsed };
  }
}
