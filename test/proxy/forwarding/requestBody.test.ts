import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PauseLimit } from '../../../gateway/proxy/forwarding/requestBody.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

describe('the pauses of a client within its body', () => {
  /** How long each next pause may last, after pauses of `ms` that each end with `bytes`. */
  const allowedAfter = (limit: PauseLimit, times: number, ms: number, bytes: number): number => {
    for (let time = 0; time < times; time += 1) {
      limit.beginPause();
      vi.advanceTimersByTime(ms);
      limit.onBytes(bytes);
    }
    return limit.beginPause();
  };

  it('may each last as long as the idle timeout', () => {
    expect(new PauseLimit(5_000).beginPause()).toBe(5_000);
    expect(new PauseLimit(0).beginPause()).toBe(0);
  });

  it('may add up to a minute, and each byte restores 2 ms', () => {
    // 50 s, of which 10 bytes restore 20 ms.
    expect(allowedAfter(new PauseLimit(30_000), 10, 5_000, 1)).toBe(10_020);
    expect(allowedAfter(new PauseLimit(30_000), 13, 5_000, 1)).toBe(1);
    // Who sends 2,500 bytes in 5 s may go on forever, but saves up no time.
    expect(allowedAfter(new PauseLimit(90_000), 100, 5_000, 2_500)).toBe(60_000);
    expect(allowedAfter(new PauseLimit(90_000), 1, 1_000, 1_000_000)).toBe(60_000);
  });
});
