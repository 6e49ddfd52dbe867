import { answerSettingsOf } from '../../config/answerSettings.ts';
import { ignoredClientsOf, rootBase } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { Fleet } from '../../operate/fleet/fleet.ts';
import { type Clock, systemClock } from '../../shared/clock.ts';
import { hasFutureCalls } from '../../usage/counting/callTimes.ts';
import type { Loss } from '../../usage/evidence/coverage.ts';
import { earliest } from '../../usage/evidence/targetHealth.ts';
import type { CountedMark } from '../../usage/ledger/callMarks.ts';
import type { OutboxState } from '../../usage/ledger/outbox.ts';
import { lossesOf } from '../../usage/ledger/unrecordedCalls.ts';
import type { LedgerSettings, LedgerState, WritableLedger } from '../../usage/ledger/writableLedger.ts';
import { type MetricValues, metricOf, unlabelled } from '../../usage/observability/exposition.ts';
import { type BrownoutRecord, otherClients, type UsageBatch } from '../../usage/usageRow.ts';
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
  const { usage, fleet } = snapshot;
  const bases = [...snapshot.apis.keys()].filter((base) => base !== rootBase);
  const recorded = { answers: answerSettingsOf(snapshot), unmarked: ignoredClientsOf(snapshot), bases };
  return { ...usage, ...recorded, ...(fleet && { spool: fleet.spool }) };
}

/**
 * Gives the ledger the settings of each reload. The calls of a client that begins to count were not marked before, and some may not be
 * counted yet. So until every process has confirmed the reload and sent its counts, the ledger keeps the client as one whose calls are
 * not marked: if a process is killed in between, calls may be missing.
 */
export class LedgerConfiguration {
  readonly #ledger: Pick<WritableLedger, 'configure'>;
  #settings: LedgerSettings;
  /** Clients whose calls a process may still leave unmarked, although they count. */
  #earlier: readonly string[] = [];
  /** The number of the last change. 0: there was none. */
  #change = 0;
  /** How many snapshots the processes apply now. */
  #applying = 0;

  constructor(ledger: Pick<WritableLedger, 'configure'>, snapshot: Snapshot) {
    this.#ledger = ledger;
    this.#settings = ledgerSettingsOf(snapshot);
    ledger.configure(this.#settings);
  }

  /** False while a process may still leave calls unmarked that count. */
  get isSettled(): boolean {
    return this.#earlier.length === 0 && this.#applying === 0;
  }

  /** Around the time in which the processes `apply` a snapshot. */
  async around<Result>(next: Snapshot, apply: () => Promise<Result>): Promise<Result> {
    // Also those that are ignored from now on: a process leaves their calls unmarked as soon as it applies the snapshot.
    const { unmarked = [] } = this.#settings;
    this.#earlier = [...new Set([...this.#earlier, ...unmarked, ...ignoredClientsOf(next)])];
    // A process counts no more calls of a removed API as soon as it applies the snapshot.
    const bases = this.#settings.bases?.filter((base) => next.apis.has(base));
    this.#configure({ ...this.#settings, ...(bases && { bases }) });
    this.#applying += 1;
    try {
      const result = await apply();
      this.#configure(ledgerSettingsOf(next));
      return result;
    } finally {
      this.#applying -= 1;
    }
  }

  /** `flush`: all processes send their counts. @returns whether they have */
  async whenFlushed(flush: () => Promise<boolean>): Promise<boolean> {
    const change = this.#change;
    // A flush that begins before every process has the snapshot proves nothing.
    const isAfterApply = this.#applying === 0;
    const isComplete = await flush();
    if (isComplete && isAfterApply && change === this.#change && this.#earlier.length > 0) {
      this.#earlier = [];
      this.#configure(this.#settings);
    }
    return isComplete;
  }

  #configure(settings: LedgerSettings): void {
    this.#change += 1;
    this.#settings = settings;
    const unmarked = [...new Set([...(settings.unmarked ?? []), ...this.#earlier])];
    this.#ledger.configure({ ...settings, unmarked });
  }
}

interface SinkOptions {
  /** Gets the examples of paths. */
  readonly trials?: { note(batch: UsageBatch): void } | undefined;
  /** Gets each batch and the losses. */
  readonly fleet?: Pick<Fleet, 'onBatch' | 'onLosses'> | undefined;
  readonly clock?: Clock;
}

/** Writes usage counts to the ledger, without the examples of paths. The salt is the current one of the ledger. */
export function usageSinkOf(
  ledger: WritableLedger,
  { trials, fleet, clock = systemClock }: SinkOptions = {},
): UsageSink {
  const began = clock.now();
  /** By process, the mark up to which its calls are counted, or recorded as a loss. */
  const countedUntil = new Map<number, number>();
  const onCounted = (process: number, until: number): void =>
    void countedUntil.set(process, Math.max(until, countedUntil.get(process) ?? 0));
  const addLosses = (losses: readonly Loss[], counted?: CountedMark): void => {
    if (losses.length > 0) fleet?.onLosses(losses);
    ledger.addLosses(losses, counted);
  };
  // The ledger has recorded what earlier runs did not count.
  for (const { process, at } of ledger.marks?.atStart.marks ?? []) onCounted(process, at);
  return {
    markFiles: ledger.marks?.files,
    process: 0,
    get salt() {
      return ledger.salt;
    },
    receive: ({ batch, salt, since, counted, hasWrongTimes }) => {
      const now = clock.now();
      if (counted) onCounted(counted.process, counted.until);
      trials?.note(batch);
      if (batch.length > 0) fleet?.onBatch(batch, since);
      // Paths contain ids, which must not reach a disk.
      for (const row of batch) if (row.example !== undefined) row.example = undefined;
      // The loss is added before the calls, so that nobody reads the calls without it.
      const areTimesWrong = hasWrongTimes || (clock.monotonic !== undefined && hasFutureCalls(batch, now));
      if (areTimesWrong) addLosses([misdatedCalls(since, Math.max(since, now) + 1)]);
      ledger.add(salt === ledger.salt ? batch : withoutTags(batch), counted);
    },
    onProcessEnd: (process, isClean) => {
      // Coverage begins with the end of a loss, and a call may have come in this millisecond.
      const now = clock.now() + 1;
      const cause = 'a worker ended before it had counted them';
      const marks = ledger.marks?.of(process);
      const until = countedUntil.get(process) ?? 0;
      const unknown = { version: '', from: until || began, until: now, reason: `Calls may be missing: ${cause}.` };
      const losses = marks ? lossesOf(marks, () => until, { began, now, cause }) : isClean ? [] : [unknown];
      for (const { at } of marks ?? []) onCounted(process, at);
      if (losses.length === 0 && isClean) return;
      addLosses(losses, { process, until: countedUntil.get(process) ?? 0 });
    },
  };
}

/** Coverage of all versions restarts: each of them may have been called at another time than the ledger tells. */
function misdatedCalls(since: number, until: number): Loss {
  const reason = 'The clock was wrong for a moment, so the calls of these seconds are counted at a wrong time.';
  return { version: '', from: Math.min(since, until), until, reason };
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

type LedgerGauges = Pick<
  LedgerState,
  'problem' | 'lastIncident' | 'unwrittenRows' | 'unwrittenSince' | 'movedRequests'
>;

/** `outbox`: the counts that wait for the shared store; undefined without a fleet. */
export function ledgerGauges(
  ledger: LedgerGauges | undefined,
  outbox: Pick<OutboxState, 'since'> | undefined,
  now: number,
): MetricValues[] {
  if (!ledger) return [];
  const waitingSince = earliest(ledger.unwrittenSince, outbox?.since) ?? now;
  return [
    unlabelled('version_gateway_ledger_up', ledger.problem === undefined ? 1 : 0),
    metricOf(
      'version_gateway_ledger_last_incident_timestamp_seconds',
      ledger.lastIncident ? [{ labels: {}, value: ledger.lastIncident.at / 1000 }] : [],
    ),
    unlabelled('version_gateway_ledger_held_rows', ledger.unwrittenRows),
    unlabelled('version_gateway_counts_waiting_seconds', Math.max(0, now - waitingSince) / 1000),
    // Only the requests that the ledger moved to `other clients`. The serving processes count those that they moved. `exposition` adds
    // the two numbers.
    unlabelled('version_gateway_usage_folded_requests_total', ledger.movedRequests),
  ];
}
