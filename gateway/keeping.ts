import type { Clock } from './shared/clock.ts';
import type { Ledger } from './usage/ledger.ts';

// Without requests, too, the ledger notes that somebody was here to count them.
const signOfLifeMs = 5000;
const maintenanceMs = 3_600_000;

/** What a ledger needs now and then, until the returned function is called. */
export function keep(ledger: Ledger, clock: Clock): () => void {
  const timers = [
    setInterval(() => ledger.add([]), signOfLifeMs).unref(),
    setInterval(() => ledger.maintain(clock.now()), maintenanceMs).unref(),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}
