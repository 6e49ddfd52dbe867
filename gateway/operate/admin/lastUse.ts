import { setTimeout } from 'node:timers/promises';
import { apiOf } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { latest } from '../../usage/evidence/targetHealth.ts';
import type { ServingReport } from '../../usage/observability/report.ts';
import { stageOf } from '../../versions/lifecycle/stage.ts';
import { factsWithoutWaiting } from '../../versions/retirement/liveFacts.ts';
import type { FleetMember } from '../fleet/fleetMember.ts';
import type { LastUseTimes, LedgerClient } from './reading/ledgerClient.ts';

// The shortest time between two queries of the ledger while no version is called.
const idleIntervalMs = 60_000;
// The same while a version is called. The ledger is written every 5 s.
const busyIntervalMs = 5_000;
const dayMs = 86_400_000;
// The first status waits this long for the ledger, because only the ledger has the times from before the start.
const firstWaitMs = 2_000;

interface LastUseSources {
  /** Undefined: the gateway keeps no usage ledger. */
  readonly ledger: LedgerClient | undefined;
  /** Undefined: the gateway is not in a fleet. */
  readonly fleet: Pick<FleetMember, 'createCountsQuestion' | 'facts'> | undefined;
}

/**
 * Adds to a report the times of the last call (`lastInFlight`) and of the last use (`lastUsed`) of each version, whether it was used
 * lately (`inUse`), and since when the ledger has its calls (`coveredSince`). A use is a call that did not fail, of a client that is not
 * ignored and has no waiver. Calls from before the start are only in the ledger.
 */
export class LastUse {
  readonly #sources: LastUseSources;
  /** Name of a version → its times in the ledger. */
  #ledgerTimes: ReadonlyMap<string, LastUseTimes> = new Map();
  /** False if the last query failed. Then a version may have been used later than the time in `#ledgerTimes`. */
  #isCurrent = false;
  #queriedAt = Number.NEGATIVE_INFINITY;
  #firstQuery: Promise<unknown> | undefined;

  constructor(sources: LastUseSources) {
    this.#sources = sources;
  }

  /** `now`: epoch ms. */
  async addTo(report: ServingReport, snapshot: Snapshot, now: number): Promise<ServingReport> {
    const age = Math.abs(now - this.#queriedAt);
    // A call shortly before the last query may not have been in the ledger yet.
    const hasNewCalls = report.versions.some(({ lastInFlight = 0 }) => lastInFlight + busyIntervalMs > this.#queriedAt);
    const isDue = age >= idleIntervalMs || (age >= busyIntervalMs && hasNewCalls);
    const query = isDue ? this.#query(report, snapshot, now) : undefined;
    this.#firstQuery ??= query && Promise.race([query, setTimeout(firstWaitMs, undefined, { ref: false })]);
    await this.#firstQuery;
    const versions = report.versions.map((counted) => {
      const one = {
        ...counted,
        ...(this.#isCurrent && { coveredSince: this.#ledgerTimes.get(counted.name)?.coveredSince }),
      };
      const version = snapshot.versions.get(one.name);
      const inLedger = this.#ledgerTimes.get(one.name);
      // In the ledger, the last request of a retired version may be one that was answered 410.
      if (!version || stageOf(version, now) === 'retired') return one;
      const last = latest(inLedger?.lastRequest, one.lastInFlight);
      // A time in the future is of a gateway whose clock is ahead.
      const lastInFlight = last === undefined ? undefined : Math.min(now, last);
      if (!this.#isCurrent) return { ...one, lastInFlight };
      return { ...one, lastInFlight, lastUsed: inLedger?.lastUsed ?? null, inUse: inLedger?.inUse };
    });
    return { ...report, versions };
  }

  /** A failed query is repeated after the usual interval. */
  async #query(report: ServingReport, snapshot: Snapshot, now: number): Promise<void> {
    this.#queriedAt = now;
    const { ledger, fleet } = this.#sources;
    const hasUnwritten = ledger !== undefined && ledger.unwrittenRows > 0;
    const live = snapshot.sortedVersions.map(
      ({ name }) =>
        [name, { ...factsWithoutWaiting(name, report, useQuietOf(name, snapshot), fleet), hasUnwritten }] as const,
    );
    const times = await ledger?.query('lastUse', snapshot, { now, live: new Map(live) }).catch(() => undefined);
    this.#isCurrent = times !== undefined;
    if (times) this.#ledgerTimes = times;
  }
}

/** A deprecated version that was used within this period, ms, counts as in use: the one in which the guard of its API asks for calls. */
export function useQuietOf(version: string, snapshot: Snapshot): number {
  return apiOf(version, snapshot).guard.quiet || dayMs;
}
