import { type Clock, ClockWatch, jumpToleranceMs } from '../../shared/clock.ts';
import type { UsageBatch } from '../usageRow.ts';

/** The times of a call. */
export interface TimedCall {
  /** When it began, epoch ms. */
  readonly at: number;
  /** When it ended, epoch ms. */
  readonly endedAt: number;
  /** Monotonic ms. */
  readonly duration: number;
}

/**
 * Detects by the times of calls that the wall clock was wrong for a moment. A clock that is set, and set back a second later, looks right
 * whenever it is compared with the monotonic one. But the calls in between have the wrong time, and would be counted in a wrong period.
 */
export class CallTimes {
  readonly #clockWatch: ClockWatch;
  #earliestEnd = Number.POSITIVE_INFINITY;
  #hasChangedDuringCall = false;

  constructor(clock: Clock) {
    this.#clockWatch = new ClockWatch(clock);
  }

  /** Notes a call that has ended, and that is counted now for the first time. */
  note({ at, endedAt, duration }: TimedCall): void {
    this.noteEnd(endedAt);
    if (Math.abs(endedAt - at - duration) > jumpToleranceMs) this.#hasChangedDuringCall = true;
  }

  /** Notes the end of a call that was counted while it was open, each time with the time of then. Epoch ms. */
  noteEnd(endedAt: number): void {
    if (endedAt < this.#earliestEnd) this.#earliestEnd = endedAt;
  }

  /** Forgets the calls. `since`: they have ended after this time, epoch ms. @returns whether a call may be dated too early */
  take(since: number): boolean {
    // `since` may itself have been taken while the clock was wrong. Then it was set since.
    const wasSet = this.#clockWatch.measure().jump !== 0;
    const areWrong = wasSet || this.#earliestEnd < since - jumpToleranceMs || this.#hasChangedDuringCall;
    this.#earliestEnd = Number.POSITIVE_INFINITY;
    this.#hasChangedDuringCall = false;
    return areWrong;
  }
}

/** Whether one of the calls was counted at a time that is still to come. `now`: epoch ms. */
export function hasFutureCalls(batch: UsageBatch, now: number): boolean {
  return batch.some(({ last }) => last > now + jumpToleranceMs);
}
