import type { Balance, HealthSettings, RetrySettings } from '../../config/snapshot.ts';
import type { HealthChanges } from './health.ts';
import { type Policy, type PoolMember, policies } from './policies.ts';
import type { Target } from './target.ts';
import type { ConnectionLoad, TargetLimits } from './targetLimits.ts';

/** The settings of a pool, and the state that is kept when a reload creates a new pool. */
export interface PoolSettings {
  /** The counter that the targets of the pool update. */
  readonly healthChanges?: HealthChanges;
  readonly budget?: RetryBudget;
  readonly onNoneHealthy?: HealthSettings['onNoneHealthy'];
}

/**
 * Where a retry may go. `elsewhere`: any target except the one that failed. `anywhere`: any target. `anywhereUncharged`: any target, and
 * the retry does not use the budget.
 */
export type RetryTarget = 'anywhere' | 'elsewhere' | 'anywhereUncharged';

/** The targets of one version, and the policy that picks one. */
export class Pool {
  readonly targets: readonly Target[];
  readonly budget: RetryBudget;
  readonly #members: readonly PoolMember[];
  readonly #policy: Policy;
  readonly #healthChanges: HealthChanges;
  readonly #usesAllIfNoneHealthy: boolean;
  #usable: readonly PoolMember[] = [];
  #seenChanges = -1;

  constructor(members: readonly PoolMember[], balance: Balance, settings: PoolSettings = {}) {
    this.targets = members.map(({ target }) => target);
    this.budget = settings.budget ?? new RetryBudget();
    this.#members = members;
    this.#policy = policies[balance]();
    this.#healthChanges = settings.healthChanges ?? { count: 0 };
    this.#usesAllIfNoneHealthy = settings.onNoneHealthy !== 'refuse';
  }

  /** No target is available and `on_none_healthy` is `refuse`: waiting would not help. */
  get hasNoUsableTarget(): boolean {
    return this.#usableNow().length === 0;
  }

  /**
   * An available target below the limit for a request on `connection` (undefined: on a connection of its own). If none is available, any
   * target, unless `hasNoUsableTarget` is true. Undefined if all usable targets are at the limit. `failed`: a target that is picked only
   * if there is no other one.
   */
  pick(limits: TargetLimits, connection?: ConnectionLoad, failed?: Target): Target | undefined {
    const usable = this.#usableNow();
    const [only] = usable;
    if (usable.length < 2) return only && limits.hasRoom(only.target, connection) ? only.target : undefined;
    const available = availableOf(usable, limits, connection, failed);
    return (available.length < 2 ? available[0] : this.#policy(available))?.target;
  }

  /** Whether a usable target is below the limit: for a request on `connection`, only for requests on other connections, or not at all. */
  roomFor(limits: TargetLimits, connection: ConnectionLoad | undefined): 'some' | 'others' | 'none' {
    let room: 'others' | 'none' = 'none';
    for (const { target } of this.#usableNow()) {
      if (limits.hasRoom(target, connection)) return 'some';
      if (limits.freeAt(target) > 0) room = 'others';
    }
    return room;
  }

  /** The target for a retry after `failed`. Undefined if there is none, or if `budget` is used up. `now`: monotonic ms. */
  pickAgain(
    limits: TargetLimits,
    failed: Target,
    where: RetryTarget,
    now: number,
    budget: RetryBudget = this.budget,
  ): Target | undefined {
    if (this.hasNoUsableTarget) return undefined;
    // The request is still in flight at `failed`, so it may be sent there again even if `failed` is at its limit.
    const next = this.pick(limits, undefined, failed) ?? failed;
    if (where === 'elsewhere' && next === failed) return undefined;
    return where === 'anywhereUncharged' || budget.takeRetry(now) ? next : undefined;
  }

  #usableNow(): readonly PoolMember[] {
    if (this.#seenChanges === this.#healthChanges.count) return this.#usable;
    this.#seenChanges = this.#healthChanges.count;
    this.#usable = usableOf(this.#members);
    if (this.#usable.length === 0 && this.#usesAllIfNoneHealthy) this.#usable = this.#members;
    return this.#usable;
  }
}

/**
 * The members that neither fail their probes nor are ejected. A member that was not tried yet is used. At most half of a pool counts as ejected: the targets that were ejected
 * first. When more targets fail, the targets are rarely the cause, and the remaining ones would have to take all requests. If
 * every member that passes its probes is ejected, these members are used.
 */
function usableOf(members: readonly PoolMember[]): readonly PoolMember[] {
  const passing = members.filter(({ target }) => target.health.availability !== 'fails probes');
  const ejected = passing
    .filter(({ target }) => target.health.availability === 'ejected')
    .sort((a, b) => a.target.health.ejectionOrder - b.target.health.ejectionOrder)
    .slice(0, Math.floor(members.length / 2));
  const usable = passing.filter((member) => !ejected.includes(member));
  return usable.length === 0 ? passing : usable;
}

/** The members below the limit, without `failed` if there are others. Usually these are all members; then nothing is copied. */
function availableOf(
  members: readonly PoolMember[],
  limits: TargetLimits,
  connection: ConnectionLoad | undefined,
  failed: Target | undefined,
): readonly PoolMember[] {
  let areAllAvailable = failed === undefined;
  for (const { target } of members) if (!limits.hasRoom(target, connection)) areAllAvailable = false;
  if (areAllAvailable) return members;
  const available = members.filter(({ target }) => limits.hasRoom(target, connection));
  const others = available.filter(({ target }) => target !== failed);
  return others.length === 0 ? available : others;
}

// The budget compares the retries and the requests of this many seconds.
const budgetWindowSeconds = 10;

/**
 * Limits the retries of a version to a share of its requests. Without a limit, retries would multiply the load of a failing
 * target. All times are monotonic ms, from `performance.now()`.
 */
export class RetryBudget {
  /** Retries granted and refused since the start. */
  granted = 0;
  refused = 0;
  // Unlimited until `configure` is called.
  #share = 0;
  #minPerSecond = Number.POSITIVE_INFINITY;
  #latestSecond = 0;
  // One slot per second of the window, and the sums of all slots.
  readonly #requestsBySlot = new Uint32Array(budgetWindowSeconds);
  readonly #retriesBySlot = new Uint32Array(budgetWindowSeconds);
  #requests = 0;
  #retries = 0;

  configure({ budget, budgetMin }: Pick<RetrySettings, 'budget' | 'budgetMin'>): void {
    this.#share = budget;
    this.#minPerSecond = budgetMin;
  }

  /** Counts a request. */
  countRequest(now: number): void {
    const slot = this.#slotAt(now);
    this.#requestsBySlot[slot] = (this.#requestsBySlot[slot] ?? 0) + 1;
    this.#requests += 1;
  }

  /** Takes a retry from the budget; false when it is used up. */
  takeRetry(now: number): boolean {
    const slot = this.#slotAt(now);
    if (this.#retries + 1 > this.#requests * this.#share + this.#minPerSecond * budgetWindowSeconds) {
      this.refused += 1;
      return false;
    }
    this.#retriesBySlot[slot] = (this.#retriesBySlot[slot] ?? 0) + 1;
    this.#retries += 1;
    this.granted += 1;
    return true;
  }

  #slotAt(now: number): number {
    const second = Math.floor(now / 1000);
    if (second > this.#latestSecond) this.#advanceTo(second);
    return this.#latestSecond % budgetWindowSeconds;
  }

  /** Clears the slots that have left the window. */
  #advanceTo(second: number): void {
    const passedSeconds = Math.min(second - this.#latestSecond, budgetWindowSeconds);
    for (let cleared = second - passedSeconds + 1; cleared <= second; cleared += 1) {
      const slot = cleared % budgetWindowSeconds;
      this.#requests -= this.#requestsBySlot[slot] ?? 0;
      this.#retries -= this.#retriesBySlot[slot] ?? 0;
      this.#requestsBySlot[slot] = 0;
      this.#retriesBySlot[slot] = 0;
    }
    this.#latestSecond = second;
  }
}
