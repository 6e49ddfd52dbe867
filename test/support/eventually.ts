import { vi } from 'vitest';

/** Repeats `check` until it does not throw. */
export function eventually(check: () => void | Promise<void>, withinMs = 30_000): Promise<void> {
  return vi.waitFor(check, { interval: 5, timeout: Math.max(withinMs, 30_000) });
}
