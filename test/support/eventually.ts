import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';

/**
 * Repeats `check` until it does not throw, for at least 60 s: a start takes that long on a busy machine. A check that asks a gateway
 * costs CPU time, so the pauses grow.
 */
export async function eventually(check: () => void | Promise<void>, withinMs = 60_000): Promise<void> {
  const begun = performance.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      const elapsed = performance.now() - begun;
      if (elapsed > Math.max(withinMs, 60_000)) throw error;
      await sleep(Math.min(200, Math.max(5, elapsed / 10)));
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
