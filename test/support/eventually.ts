import { vi } from 'vitest';

/** Repeats `check` until it holds: for what another process end needs a moment to notice. */
export function eventually(check: () => void, withinMs = 30_000): Promise<void> {
  return vi.waitFor(check, { interval: 5, timeout: Math.max(withinMs, 30_000) });
}
