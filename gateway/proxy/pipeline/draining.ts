import { type Timed, unwatchDeadline, watchDeadline } from '../../http1/deadlines.ts';
import { stageOf } from '../../versions/lifecycle/stage.ts';
import type { ActiveSnapshot } from './activeVersion.ts';
import type { InFlight, VersionRequests } from './inFlight.ts';

/**
 * Ends exchanges whose version was retired or removed, whose target was removed, or whose gateway stops. Endless streams
 * end at once; the others have `drain` ms to finish.
 */
export class Draining implements Timed {
  deadline = 0;
  readonly #requestsByVersion: ReadonlyMap<string, VersionRequests>;
  // The `performance.now()` at which each exchange is cut. `onDeadline` also removes the exchanges that have ended.
  readonly #deadlines = new Map<InFlight, number>();
  /** The `performance.now()` at which the gateway cuts everything, because it stops. Until it stops: infinite. */
  #stopsAt = Number.POSITIVE_INFINITY;

  constructor(requestsByVersion: ReadonlyMap<string, VersionRequests>) {
    this.#requestsByVersion = requestsByVersion;
  }

  /**
   * Call it after a reload, and regularly: a version can also end by its date. An exchange that is wanted again, because an edit
   * was undone, is not cut. `now`: epoch ms.
   */
  endUnwanted(active: ActiveSnapshot, now: number): void {
    const { drain } = active.snapshot.gateway;
    for (const { inFlight } of this.#requestsByVersion.values()) {
      for (const exchange of inFlight) {
        if (!isWanted(exchange, active, now)) this.#end(exchange, drain);
        else if (this.#stopsAt === Number.POSITIVE_INFINITY) this.#deadlines.delete(exchange);
      }
    }
  }

  /** The gateway stops: gives every exchange `drain` ms to finish. */
  endAll(drain: number): void {
    this.#stopsAt = performance.now() + drain;
    for (const { inFlight } of this.#requestsByVersion.values())
      for (const exchange of inFlight) this.#end(exchange, drain);
  }

  /** Ends everything now: with a problem if no response has begun, otherwise by closing the connection. */
  cutAll(): void {
    this.#expireQueues();
    for (const { inFlight } of this.#requestsByVersion.values()) for (const exchange of inFlight) exchange.cut();
  }

  onDeadline(): void {
    const now = performance.now();
    if (now >= this.#stopsAt) this.#expireQueues();
    for (const [exchange, deadline] of this.#deadlines) {
      const hasEnded = exchange.inFlightIndex === -1;
      if (!hasEnded && deadline > now) continue;
      this.#deadlines.delete(exchange);
      if (!hasEnded) exchange.cut();
    }
    if (this.#deadlines.size === 0) unwatchDeadline(this);
    // A deadline in the past, so that the next tick of the deadline timer calls this again.
    else this.deadline = 0;
  }

  /** Call this before exchanges are cut, because each exchange that is cut would admit a request that waits. */
  #expireQueues(): void {
    for (const { queue } of this.#requestsByVersion.values()) queue.expireAll();
  }

  #end(exchange: InFlight, drain: number): void {
    if (this.#deadlines.has(exchange)) return;
    this.#deadlines.set(exchange, performance.now() + drain);
    this.deadline = 0;
    watchDeadline(this);
    exchange.endIfEndless();
  }
}

function isWanted(exchange: InFlight, { versions }: ActiveSnapshot, now: number): boolean {
  const { versionName, chosenTarget } = exchange;
  const activeVersion = versions.get(versionName);
  if (activeVersion === undefined) return false;
  const { version, restrictions, pool } = activeVersion;
  if (stageOf(version, now) === 'retired' && !(restrictions && exchange.isWaived(restrictions, now))) return false;
  return pool.targets.some(({ key }) => key === chosenTarget?.key);
}
