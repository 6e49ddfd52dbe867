import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';

/** What takes milliseconds on an idle machine may take minutes on a busy one, and must not fail a test there. */
const patienceMs = 300_000;

/**
 * Repeats `check` until it does not throw, and returns its result. A check costs CPU time, so the pauses grow up to `longestPauseMs`:
 * more for a check that starts a process.
 */
export async function eventually<T>(check: () => T | Promise<T>, longestPauseMs = 200): Promise<T> {
  const begun = performance.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const elapsed = performance.now() - begun;
      if (elapsed > patienceMs) throw error;
      await sleep(Math.min(longestPauseMs, Math.max(5, elapsed / 10)));
    }
  }
}

/** Waits until `read` has returned the same number for `quietMs`. */
export async function settled(read: () => number, quietMs = 300): Promise<number> {
  let last = read();
  let since = performance.now();
  await eventually(() => {
    const now = read();
    if (now !== last) since = performance.now();
    last = now;
    expect(performance.now() - since).toBeGreaterThan(quietMs);
  });
  return last;
}
