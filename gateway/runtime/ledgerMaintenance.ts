import type { Clock } from '../shared/clock.ts';
import type { WritableLedger } from '../usage/ledger/writableLedger.ts';
import type { UsageSink } from './serving.ts';

// Written even without requests, so that the ledger shows when the gateway was not running.
const heartbeatMs = 5000;
const maintenanceMs = 3_600_000;

/** Schedules heartbeat and hourly maintenance. `onSalt` is called when the salt has changed. Returns a function that stops both. */
export function maintainLedger(ledger: WritableLedger, clock: Clock, onSalt: () => void): () => void {
  let { salt } = ledger;
  const beat = (): void => {
    ledger.add([]);
    if (ledger.salt === salt) return;
    salt = ledger.salt;
    onSalt();
  };
  const timers = [
    setInterval(beat, heartbeatMs).unref(),
    setInterval(() => ledger.maintain(clock.now()), maintenanceMs).unref(),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

/** Writes usage counts to the ledger. The salt is the current one of the ledger. */
export function sinkOf(ledger: WritableLedger): UsageSink {
  return {
    get salt() {
      return ledger.salt;
    },
    take: (batch) => ledger.add(batch),
  };
}
