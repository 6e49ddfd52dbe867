import type { Target } from './target.ts';

/** The targets of one version, and whose turn it is. */
export class Pool {
  readonly targets: readonly Target[];
  #turn = 0;

  constructor(targets: readonly Target[]) {
    this.targets = targets;
  }

  /** The next target that may take one more request; undefined when all of them are at `limit`. */
  pick(limit: number): Target | undefined {
    for (let tried = 0; tried < this.targets.length; tried += 1) {
      const target = this.targets[this.#turn % this.targets.length];
      this.#turn = (this.#turn + 1) % this.targets.length;
      if (target && target.inFlight < limit) return target;
    }
    return undefined;
  }
}
