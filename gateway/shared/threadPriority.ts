import { getPriority, setPriority } from 'node:os';

const highestNiceness = 19;

/** Threads that serve clients take precedence over the current one if they share a core. Only Linux has a priority per thread. */
export function lowerThreadPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    // Relative, because the gateway may have been started with a low priority.
    setPriority(Math.min(highestNiceness, getPriority() + 5));
  } catch {
    // A sandbox may forbid this call.
  }
}
