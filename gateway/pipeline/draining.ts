import { type Timed, unwatchDeadline, watchDeadline } from '../http1/deadlines.ts';
import { stageOf } from '../lifecycle/stage.ts';
import type { InFlight, VersionUse } from './inFlight.ts';
import type { Live } from './live.ts';

/**
 * Ends what is under way and no longer wanted: its version is retired or gone, or its target is, or the gateway stops.
 * Streams are told at once; the rest has `drain` ms.
 */
export class Draining implements Timed {
  deadline = 0;
  readonly #uses: ReadonlyMap<string, VersionUse>;
  // Until when each of them may take. Nearly all are done long before, and must not be kept until then.
  readonly #told = new Map<InFlight, number>();

  constructor(uses: ReadonlyMap<string, VersionUse>) {
    this.#uses = uses;
  }

  /** To be called after a reload, and now and then: a version can end by its date alone. `now`: epoch ms. */
  look(live: Live, now: number): void {
    const { drain } = live.snapshot.gateway;
    for (const use of this.#uses.values()) {
      for (const one of use.inFlight) if (!isWanted(one, live, now)) this.#end(one, drain);
    }
  }

  all(drain: number): void {
    for (const use of this.#uses.values()) for (const one of use.inFlight) this.#end(one, drain);
  }

  /** Ends everything now: with a problem where no response has begun, else by breaking it off. */
  cut(): void {
    for (const use of this.#uses.values()) for (const one of use.inFlight) one.cut();
  }

  onDeadline(): void {
    const now = performance.now();
    for (const [one, deadline] of this.#told) {
      const over = this.#uses.get(one.version)?.inFlight.has(one) !== true;
      if (!over && deadline > now) continue;
      this.#told.delete(one);
      if (!over) one.cut();
    }
    if (this.#told.size === 0) unwatchDeadline(this);
    // To be asked at the next look.
    else this.deadline = 0;
  }

  #end(one: InFlight, drain: number): void {
    if (this.#told.has(one)) return;
    this.#told.set(one, performance.now() + drain);
    this.deadline = 0;
    watchDeadline(this);
    one.goAway();
  }
}

function isWanted({ version, target }: InFlight, { activeVersions }: Live, now: number): boolean {
  const its = activeVersions.get(version);
  if (its === undefined || stageOf(its.version, now) === 'retired') return false;
  return its.pool.targets.some((one) => one === target);
}
