import { expect, vi } from 'vitest';

/** Repeats `check` until it does not throw, for at least 30 s. */
export function eventually(check: () => void | Promise<void>, withinMs = 30_000): Promise<void> {
  return vi.waitFor(check, { interval: 5, timeout: Math.max(withinMs, 30_000) });
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
