import { setTimeout } from 'node:timers/promises';
import type { Snapshot } from '../config/snapshot.ts';
import { stageOf } from '../lifecycle/stage.ts';
import type { ServingReport } from '../observability/report.ts';
import type { LastUseFacts, LedgerDesk } from './reading/questions.ts';

// A large ledger is not asked more often; while versions are called, it is asked as often as it is written.
const freshMs = 60_000;
const writtenMs = 5_000;
// A status that is late says less than one without what was before the start.
const firstMs = 2_000;

/** When each version was last served and used, with what was before the start: of that only the ledger knows. */
export class LastUse {
  readonly #usage: () => LedgerDesk | undefined;
  #known: ReadonlyMap<string, LastUseFacts> = new Map();
  /** False: the ledger could not answer, so that versions may have been used since. */
  #isCurrent = false;
  #looked = Number.NEGATIVE_INFINITY;
  #first: Promise<unknown> | undefined;

  constructor(usage: () => LedgerDesk | undefined) {
    this.#usage = usage;
  }

  /** The report with that; `now`: epoch ms. */
  async in(report: ServingReport, snapshot: Snapshot, now: number): Promise<ServingReport> {
    const age = Math.abs(now - this.#looked);
    const isCalled = report.versions.some(({ lastServed = 0 }) => lastServed + writtenMs > this.#looked);
    const look = age >= freshMs || (age >= writtenMs && isCalled) ? this.#look(snapshot, now) : undefined;
    this.#first ??= look && Promise.race([look, setTimeout(firstMs, undefined, { ref: false })]);
    await this.#first;
    const withLedger = report.versions.map((one) => {
      const version = snapshot.versions.get(one.name);
      const known = this.#known.get(one.name);
      // Of a retired version the ledger's last request is one that was answered 410.
      if (!version || stageOf(version, now) === 'retired') return one;
      const times = [known?.served, one.lastServed].filter((at): at is number => at !== undefined && at <= now);
      const lastServed = times.length === 0 ? undefined : Math.max(...times);
      return { ...one, lastServed, ...(this.#isCurrent && { lastUsed: known?.used ?? null }) };
    });
    return { ...report, versions: withLedger };
  }

  /** What could not be learned is asked for again a while later. */
  async #look(snapshot: Snapshot, now: number): Promise<void> {
    this.#looked = now;
    const known = await this.#usage()
      ?.ask('lastUse', snapshot, {})
      .catch(() => undefined);
    this.#isCurrent = known !== undefined;
    if (known) this.#known = known;
  }
}
