import type { Clock } from '../shared/clock.ts';
import type { WritableLedger } from '../usage/ledger/writableLedger.ts';
import type { UsageSink } from './serving.ts';

// Without requests, too, the ledger notes that somebody was here to count them.
const signOfLifeMs = 5000;
const maintenanceMs = 3_600_000;

/** What a ledger needs now and then, until the returned function is called. `onSalt`: its salt is another one now. */
export function keep(ledger: WritableLedger, clock: Clock, onSalt: () => void): () => void {
  let { salt } = ledger;
  const look = (): void => {
    ledger.add([]);
    if (ledger.salt === salt) return;
    salt = ledger.salt;
    onSalt();
  };
  const timers = [
    setInterval(look, signOfLifeMs).unref(),
    setInterval(() => ledger.maintain(clock.now()), maintenanceMs).unref(),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

/** Where counts go: into the ledger, and with the salt that it has at the time. */
export function sinkOf(ledger: WritableLedger): UsageSink {
  return {
    get salt() {
      return ledger.salt;
    },
    take: (batch) => ledger.add(batch),
  };
}
