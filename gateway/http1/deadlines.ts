/** Something that waits for another party, until an instant of `performance.now()`; Infinity: for ever. */
export interface Timed {
  deadline: number;
  onDeadline(): void;
}

// One timer looks at everybody ten times a second. A timer a request would cost more than the request's own waiting:
// a deadline moves with every chunk and hardly ever passes.
const everyMs = 100;
const waiting = new Set<Timed>();
let timer: NodeJS.Timeout | undefined;

export function watchDeadline(one: Timed): void {
  waiting.add(one);
  timer ??= setInterval(look, everyMs).unref();
}

export function unwatchDeadline(one: Timed): void {
  waiting.delete(one);
  if (waiting.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

/** The instant `ms` from now; 0 means never. */
export function deadlineIn(ms: number): number {
  return ms === 0 ? Number.POSITIVE_INFINITY : performance.now() + ms;
}

function look(): void {
  const now = performance.now();
  for (const one of waiting) {
    if (one.deadline > now) continue;
    one.deadline = Number.POSITIVE_INFINITY;
    one.onDeadline();
  }
}
