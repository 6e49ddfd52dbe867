import type { Balance } from '../config/snapshot.ts';
import { policies } from './policies/index.ts';
import type { Member, Policy } from './policies/policy.ts';
import type { Target } from './target.ts';

/** The targets of one version, and whose turn it is. */
export class Pool {
  readonly targets: readonly Target[];
  readonly #members: readonly Member[];
  readonly #policy: Policy;

  constructor(members: readonly Member[], balance: Balance) {
    this.targets = members.map(({ target }) => target);
    this.#members = members;
    this.#policy = policies[balance]();
  }

  /**
   * A target that may take one more request; undefined when all of them are at `limit`. `failed` cannot be reached, and
   * is taken only where there is no other.
   */
  pick(limit: number, failed?: Target): Target | undefined {
    const [only] = this.targets;
    if (this.targets.length === 1) return only && only.inFlight < limit ? only : undefined;
    const able = this.#members.filter(({ target }) => target.inFlight < limit);
    const others = failed === undefined ? able : able.filter(({ target }) => target !== failed);
    const candidates = others.length === 0 ? able : others;
    return (candidates.length < 2 ? candidates[0] : this.#policy(candidates))?.target;
  }
}
