import { setTimeout } from 'node:timers/promises';
import type { Snapshot } from '../config/snapshot.ts';
import { stageOf } from '../lifecycle/stage.ts';
import type { ServingReport } from '../observability/report.ts';
import type { LastUseTimes, LedgerClient } from './reading/ledgerClient.ts';

// The shortest time between two queries of the ledger while no version is called.
const idleIntervalMs = 60_000;
// The same while a version is called. The ledger is written every 5 s.
const busyIntervalMs = 5_000;
// The first status waits this long for the ledger, because only the ledger has the times from before the start.
const firstWaitMs = 2_000;

/**
 * Adds to a report the times of the last call (`lastInFlight`) and of the last use (`lastUsed`) of each version. A use is a call that
 * did not fail, of a client that is not ignored and has no waiver. Calls from before the start are only in the ledger.
 */
export class LastUse {
  readonly #usage: () => LedgerClient | undefined;
  /** Name of a version → its times in the ledger. */
  #ledgerTimes: ReadonlyMap<string, LastUseTimes> = new Map();
  /** False if the last query failed. Then a version may have been used later than the time in `#ledgerTimes`. */
  #isCurrent = false;
  #queriedAt = Number.NEGATIVE_INFINITY;
  #firstQuery: Promise<unknown> | undefined;

  constructor(usage: () => LedgerClient | undefined) {
    this.#usage = usage;
  }

  /** `now`: epoch ms. */
  async addTo(report: ServingReport, snapshot: Snapshot, now: number): Promise<ServingReport> {
    const age = Math.abs(now - this.#queriedAt);
    // A call shortly before the last query may not have been in the ledger yet.
    const hasNewCalls = report.versions.some(({ lastInFlight = 0 }) => lastInFlight + busyIntervalMs > this.#queriedAt);
    const isDue = age >= idleIntervalMs || (age >= busyIntervalMs && hasNewCalls);
    const query = isDue ? this.#query(snapshot, now) : undefined;
    this.#firstQuery ??= query && Promise.race([query, setTimeout(firstWaitMs, undefined, { ref: false })]);
    await this.#firstQuery;
    const versions = report.versions.map((one) => {
      const version = snapshot.versions.get(one.name);
      const inLedger = this.#ledgerTimes.get(one.name);
      // In the ledger, the last request of a retired version may be one that was answered 410.
      if (!version || stageOf(version, now) === 'retired') return one;
      const times = [inLedger?.lastRequest, one.lastInFlight].filter(
        (at): at is number => at !== undefined && at <= now,
      );
      const lastInFlight = times.length === 0 ? undefined : Math.max(...times);
      return { ...one, lastInFlight, ...(this.#isCurrent && { lastUsed: inLedger?.lastUsed ?? null }) };
    });
    return { ...report, versions };
  }

  /** A failed query is repeated after the usual interval. */
  async #query(snapshot: Snapshot, now: number): Promise<void> {
    this.#queriedAt = now;
    const times = await this.#usage()
      ?.query('lastUse', snapshot, { now })
      .catch(() => undefined);
    this.#isCurrent = times !== undefined;
    if (times) this.#ledgerTimes = times;
  }
}
