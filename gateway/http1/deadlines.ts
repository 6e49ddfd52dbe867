// Imported because each request reads the clock: the global `performance` is a getter, and the getter costs more than the clock.
import { performance } from 'node:perf_hooks';

/** Something with a deadline, by `performance.now()`; Infinity: none. */
export interface Timed {
  deadline: number;
  onDeadline(): void;
}

// One timer checks all deadlines. Deadlines move with every chunk and rarely pass: a timer of its own for each connection
// would cost far more.
const intervalMs = 100;
const watched = new Set<Timed>();
let timer: NodeJS.Timeout | undefined;

export function watchDeadline(timed: Timed): void {
  watched.add(timed);
  timer ??= setInterval(check, intervalMs).unref();
}

export function unwatchDeadline(timed: Timed): void {
  watched.delete(timed);
  if (watched.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

/** The deadline `ms` from now; 0: never. */
export function deadlineIn(ms: number): number {
  return ms === 0 ? Number.POSITIVE_INFINITY : performance.now() + ms;
}

function check(): void {
  const now = performance.now();
  for (const timed of watched) {
    if (timed.deadline > now) continue;
    timed.deadline = Number.POSITIVE_INFINITY;
    timed.onDeadline();
  }
}
