import { answerSettingsOf } from '../config/answerSettings.ts';
import type { Snapshot } from '../config/snapshot.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { type Clock, systemClock } from '../shared/clock.ts';
import { lossesOf } from '../usage/ledger/unrecordedCalls.ts';
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
export function ledgerSettingsOf(snapshot: Snapshot): LedgerSettings {
  const { usage, fleet, retire } = snapshot;
  const recorded = { answers: answerSettingsOf(snapshot), unmarked: retire.ignoreClients };
  return { ...usage, ...recorded, ...(fleet && { spool: fleet.spool }) };
}

/**
 * Writes usage counts to the ledger, without the examples of paths. The salt is the current one of the ledger. `trials` gets
 * the examples, `fleet` each batch and the losses.
 */
export function usageSinkOf(
  ledger: WritableLedger,
  trials?: { note(batch: UsageBatch): void },
  fleet?: Pick<Fleet, 'onBatch' | 'onLosses'>,
  clock: Clock = systemClock,
): UsageSink {
  /** By process, the mark up to which its calls are counted, or recorded as a loss. */
  const countedUntil = new Map<number, number>();
  const onCounted = (process: number, until: number): void =>
    void countedUntil.set(process, Math.max(until, countedUntil.get(process) ?? 0));
  // The ledger has recorded what earlier runs did not count.
  for (const { process, at } of ledger.marks?.atStart.marks ?? []) onCounted(process, at);
  return {
    markFiles: ledger.marks?.files,
    process: 0,
    get salt() {
      return ledger.salt;
    },
    receive: (batch, salt, since, counted) => {
      if (counted) onCounted(counted.process, counted.until);
      trials?.note(batch);
      if (batch.length > 0) fleet?.onBatch(batch, since);
      // Paths contain ids, which must not reach a disk.
      for (const row of batch) if (row.example !== undefined) row.example = undefined;
      ledger.add(salt === ledger.salt ? batch : withoutTags(batch), counted);
    },
    onProcessEnd: (process, isClean) => {
      // Coverage begins with the end of a loss, and a call may have come in this millisecond.
      const now = clock.now() + 1;
      const cause = 'a worker ended before it had counted them';
      const marks = ledger.marks?.of(process);
      const until = countedUntil.get(process) ?? 0;
      const unknown = { version: '', from: until || now, until: now, reason: `Calls may be missing: ${cause}.` };
      const losses = marks ? lossesOf(marks, () => until, now, cause) : isClean ? [] : [unknown];
      for (const { at } of marks ?? []) onCounted(process, at);
      if (losses.length === 0 && isClean) return;
      if (losses.length > 0) fleet?.onLosses(losses);
      ledger.addLosses(losses, { process, until: countedUntil.get(process) ?? 0 });
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
