import { after, unwatch, watch } from '../http1/deadlines.ts';
import { stageOf } from '../lifecycle/stage.ts';
import type { Underway, VersionUse } from '../usage/versionUse.ts';
import type { Live } from './live.ts';

// An instant at which a deadline is over at once, where `after(0)` would never be.
const atOnce = 1;

/**
 * Ends what is under way and no longer wanted: its version is retired or gone, or its target is, or the gateway stops.
 * Streams are told at once; the rest has `drain` ms.
 */
export class Endings {
  readonly #told = new WeakSet<Underway>();
  readonly #uses: ReadonlyMap<string, VersionUse>;

  constructor(uses: ReadonlyMap<string, VersionUse>) {
    this.#uses = uses;
  }

  /** To be called after a reload, and now and then: a version can end by its date alone. */
  look(live: Live, now: number): void {
    const { drain } = live.snapshot.gateway;
    for (const use of this.#uses.values()) {
      for (const one of use.underway) if (!isWanted(one, live, now)) this.#end(one, drain);
    }
  }

  all(drain: number): void {
    for (const use of this.#uses.values()) for (const one of use.underway) this.#end(one, drain);
  }

  #end(one: Underway, drain: number): void {
    if (this.#told.has(one)) return;
    this.#told.add(one);
    one.goAway();
    // By then it is nearly always over, and cutting it off does nothing.
    const waiting = {
      deadline: after(drain || atOnce),
      onDeadline: () => {
        unwatch(waiting);
        one.cut();
      },
    };
    watch(waiting);
  }
}

function isWanted({ version, target }: Underway, { served }: Live, now: number): boolean {
  const its = served.get(version);
  if (its === undefined || stageOf(its.version, now) === 'retired') return false;
  return its.pool.targets.some((one) => one === target);
}
