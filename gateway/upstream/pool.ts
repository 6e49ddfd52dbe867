import type { Balance, HealthSettings } from '../config/snapshot.ts';
import { RetryBudget } from './budget.ts';
import type { Changes } from './changes.ts';
import { policies } from './policies/index.ts';
import type { Member, Policy } from './policies/policy.ts';
import type { Target } from './target.ts';

/** What a pool shares with others, or is told. */
export interface PoolSettings {
  /** The one that its targets count in. */
  readonly changes?: Changes;
  readonly budget?: RetryBudget;
  readonly onNoneHealthy?: HealthSettings['onNoneHealthy'];
}

/** Where a second try may go: to any target but the one that failed; or to any, and then perhaps out of no budget. */
export type SecondTarget = 'anywhere' | 'elsewhere' | 'free';

/** The targets of one version, and whose turn it is. */
export class Pool {
  readonly targets: readonly Target[];
  readonly budget: RetryBudget;
  readonly #members: readonly Member[];
  readonly #policy: Policy;
  readonly #changes: Changes;
  readonly #triesAll: boolean;
  #usable: readonly Member[] = [];
  #seen = -1;

  constructor(members: readonly Member[], balance: Balance, settings: PoolSettings = {}) {
    this.targets = members.map(({ target }) => target);
    this.budget = settings.budget ?? new RetryBudget();
    this.#members = members;
    this.#policy = policies[balance]();
    this.#changes = settings.changes ?? { count: 0 };
    this.#triesAll = settings.onNoneHealthy !== 'refuse';
  }

  /** There is nobody to wait for: no target is healthy, and none is tried all the same. */
  get refuses(): boolean {
    return this.#current().length === 0;
  }

  /**
   * A healthy target that may take one more request; undefined when all of them are at `limit`, or when the pool
   * `refuses`. `failed` is taken only where there is no other.
   */
  pick(limit: number, failed?: Target): Target | undefined {
    const usable = this.#current();
    const [only] = usable;
    if (usable.length < 2) return only && only.target.inFlight < limit ? only.target : undefined;
    const able = ableOf(usable, limit, failed);
    return (able.length < 2 ? able[0] : this.#policy(able))?.target;
  }

  /**
   * The target for another try of what `failed` has not answered. Undefined when there is none, or the budget is spent.
   * `now`: steady ms.
   */
  pickAgain(limit: number, failed: Target, where: SecondTarget, now: number): Target | undefined {
    if (this.refuses) return undefined;
    // Its own place at the target that failed is still its own.
    const next = this.pick(limit, failed) ?? failed;
    if (where === 'elsewhere' && next === failed) return undefined;
    return where === 'free' || this.budget.take(now) ? next : undefined;
  }

  #current(): readonly Member[] {
    if (this.#seen === this.#changes.count) return this.#usable;
    this.#seen = this.#changes.count;
    this.#usable = usableOf(this.#members);
    if (this.#usable.length === 0 && this.#triesAll) this.#usable = this.#members;
    return this.#usable;
  }
}

/**
 * At most half of a pool are out for failed requests, those first that have been so for longest. When more of them fail
 * it is seldom their own fault, and the rest would have to carry everybody.
 */
function usableOf(members: readonly Member[]): readonly Member[] {
  const passing = members.filter(({ target }) => target.health.state !== 'unhealthy');
  const ejected = passing
    .filter(({ target }) => target.health.state === 'ejected')
    .sort((a, b) => a.target.health.rank - b.target.health.rank)
    .slice(0, Math.floor(members.length / 2));
  return passing.filter((member) => !ejected.includes(member));
}

/** Those below the limit, of which there are nearly always all: then nothing is copied. */
function ableOf(members: readonly Member[], limit: number, failed: Target | undefined): readonly Member[] {
  let all = failed === undefined;
  for (const { target } of members) if (target.inFlight >= limit) all = false;
  if (all) return members;
  const able = members.filter(({ target }) => target.inFlight < limit);
  const others = able.filter(({ target }) => target !== failed);
  return others.length === 0 ? able : others;
}
