import type { Snapshot } from '../config/snapshot.ts';
import type { Clock } from '../shared/clock.ts';
import type { LedgerSettings, WritableLedger } from '../usage/ledger/writableLedger.ts';
import { type BrownoutRecord, otherClients, type UsageBatch } from '../usage/usageRow.ts';
import type { UsageSink } from './serving.ts';

// Heartbeats are written even without requests, so that the ledger shows when the gateway was not running.
const heartbeatIntervalMs = 5000;
const maintenanceIntervalMs = 3_600_000;

/** Schedules heartbeat and hourly maintenance. Returns a function that stops both. */
export function maintainLedger(
  ledger: WritableLedger,
  clock: Clock,
  { onSaltChange }: { readonly onSaltChange: () => void },
): () => void {
  let { salt } = ledger;
  const beat = (): void => {
    ledger.add([]);
    if (ledger.salt === salt) return;
    salt = ledger.salt;
    onSaltChange();
  };
  const timers = [
    setInterval(beat, heartbeatIntervalMs).unref(),
    setInterval(() => ledger.maintain(clock.now()), maintenanceIntervalMs).unref(),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

/** The settings of the ledger. In a fleet, also how many bytes of counts may wait for the shared store. */
export function ledgerSettingsOf({ usage, fleet }: Snapshot): LedgerSettings {
  return fleet ? { ...usage, spool: fleet.spool } : usage;
}

/** Writes usage counts to the ledger. The salt is the current one of the ledger. `onBatch`: called for each batch. */
export function usageSinkOf(
  ledger: WritableLedger,
  onBatch: (batch: UsageBatch, since: number) => void = () => {},
): UsageSink {
  return {
    get salt() {
      return ledger.salt;
    },
    receive: (batch, salt, since) => {
      onBatch(batch, since);
      ledger.add(salt === ledger.salt ? batch : withoutTags(batch));
    },
  };
}

/**
 * Counts clients with a tag, such as `x-api-key:#4f2a91c07be05d3a`, as "other clients". The salt has changed since these
 * counts, so a client would otherwise appear twice: with its old tag and with its new one.
 */
function withoutTags(batch: UsageBatch): UsageBatch {
  return batch.map((row) => (row.client.includes(':#') ? { ...row, client: otherClients } : row));
}

/** Stores decisions about brownouts in the ledger. @returns the decisions in effect; undefined: the ledger cannot be written */
export async function shareBrownouts(
  ledger: WritableLedger,
  records: readonly BrownoutRecord[],
): Promise<readonly BrownoutRecord[] | undefined> {
  if (records.length > 0) {
    ledger.saveBrownouts(records);
    await ledger.flush();
  }
  return ledger.problem === undefined ? ledger.brownouts : undefined;
}
