import type { Snapshot } from '../config/snapshot.ts';
import { stageOf } from '../lifecycle/stage.ts';
import type { ServingReport } from '../observability/report.ts';
import type { UsageQueries } from '../usage/queries.ts';

// Of what has been since the start the processes themselves know; a large ledger is not to be busy with the rest.
const freshMs = 60_000;

/** When each version was last served, with what was before the start: of that only the ledger knows. */
export class LastUse {
  readonly #usage: UsageQueries | undefined;
  #before: ReadonlyMap<string, number> = new Map();
  #looked = Number.NEGATIVE_INFINITY;

  constructor(usage: UsageQueries | undefined) {
    this.#usage = usage;
  }

  /** The report with that; `now`: epoch ms. */
  in(report: ServingReport, { versions }: Snapshot, now: number): ServingReport {
    if (now - this.#looked >= freshMs) this.#look(now);
    const withBefore = report.versions.map((one) => {
      const version = versions.get(one.name);
      const before = this.#before.get(one.name);
      // Of a retired version the ledger's last request is one that was answered 410.
      if (before === undefined || !version || stageOf(version, now) === 'retired') return one;
      return { ...one, lastServed: Math.max(before, one.lastServed ?? before) };
    });
    return { ...report, versions: withBefore };
  }

  #look(now: number): void {
    this.#looked = now;
    const served = this.#usage?.totals(0).filter((total) => total.served > 0) ?? [];
    this.#before = new Map(served.map(({ version, last }) => [version, last]));
  }
}
