import { setTimeout } from 'node:timers/promises';
import type { Snapshot } from '../config/snapshot.ts';
import { stageOf } from '../lifecycle/stage.ts';
import type { ServingReport } from '../observability/report.ts';
import type { LedgerDesk } from './reading/questions.ts';

// Of what has been since the start the processes themselves know; a large ledger is not to be busy with the rest.
const freshMs = 60_000;
// A status that is late says less than one without what was before the start.
const firstMs = 2_000;

/** When each version was last served, with what was before the start: of that only the ledger knows. */
export class LastUse {
  readonly #usage: () => LedgerDesk | undefined;
  #before: ReadonlyMap<string, number> = new Map();
  #looked = Number.NEGATIVE_INFINITY;
  #first: Promise<unknown> | undefined;

  constructor(usage: () => LedgerDesk | undefined) {
    this.#usage = usage;
  }

  /** The report with that; `now`: epoch ms. */
  async in(report: ServingReport, snapshot: Snapshot, now: number): Promise<ServingReport> {
    const look = Math.abs(now - this.#looked) >= freshMs ? this.#look(snapshot, now) : undefined;
    this.#first ??= look && Promise.race([look, setTimeout(firstMs, undefined, { ref: false })]);
    await this.#first;
    const withBefore = report.versions.map((one) => {
      const version = snapshot.versions.get(one.name);
      const before = this.#before.get(one.name);
      // Of a retired version the ledger's last request is one that was answered 410.
      if (before === undefined || before > now || !version || stageOf(version, now) === 'retired') return one;
      return { ...one, lastServed: Math.max(before, one.lastServed ?? before) };
    });
    return { ...report, versions: withBefore };
  }

  /** What could not be learned is asked for again a while later. */
  async #look(snapshot: Snapshot, now: number): Promise<void> {
    this.#looked = now;
    this.#before =
      (await this.#usage()
        ?.ask('lastUse', snapshot, {})
        .catch(() => undefined)) ?? this.#before;
  }
}
