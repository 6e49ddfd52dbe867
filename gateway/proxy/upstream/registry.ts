import type { Snapshot, Version } from '../../config/snapshot.ts';
import { readRegularFile } from '../../shared/fileSystem.ts';
import { type Resolve, systemResolve } from './nameResolution.ts';
import { Pool, RetryBudget } from './pool.ts';
import { Target, type TargetContext, targetKey } from './target.ts';

/** Keeps targets by URL over all snapshots, so that a reload keeps their connections, health and counts. */
export class Registry {
  readonly #context: TargetContext;
  /** Key: `Target.key`. */
  #targets = new Map<string, Target>();
  /** The budgets by the name of the version. */
  #budgets = new Map<string, RetryBudget>();

  constructor({ resolve = systemResolve }: { readonly resolve?: Resolve } = {}) {
    this.#context = { healthChanges: { count: 0 }, resolve };
  }

  /** The pools by the name of the version. Targets that no version uses any more are closed once idle. */
  poolsFor(snapshot: Snapshot): Map<string, Pool> {
    const keptTargets = new Map<string, Target>();
    const versionsByTarget = new Map<Target, Version[]>();
    const pools = new Map<string, Pool>();
    const budgets = new Map<string, RetryBudget>();
    for (const version of snapshot.sortedVersions) {
      const members = version.targets.map(({ url, weight }) => ({
        target: this.#targetFor(url, version, keptTargets),
        weight,
      }));
      for (const { target } of members) {
        versionsByTarget.set(target, [...(versionsByTarget.get(target) ?? []), version]);
      }
      const budget = this.#budgets.get(version.name) ?? new RetryBudget();
      budget.configure(version.retries);
      budgets.set(version.name, budget);
      const { healthChanges } = this.#context;
      const { onNoneHealthy } = version.health;
      pools.set(version.name, new Pool(members, version.balance, { healthChanges, budget, onNoneHealthy }));
    }
    for (const [key, target] of this.#targets) if (!keptTargets.has(key)) target.close();
    this.#targets = keptTargets;
    this.#budgets = budgets;
    for (const [target, versions] of versionsByTarget) activate(target, versions);
    return pools;
  }

  close(): void {
    for (const target of this.#targets.values()) target.close();
  }

  #targetFor(url: string, { tls, timeouts }: Version, keptTargets: Map<string, Target>): Target {
    const ca = url.startsWith('https:') && tls.ca !== undefined ? readRegularFile(tls.ca) : undefined;
    const key = targetKey(url, tls, ca);
    // Set if another version of the snapshot has this target, too.
    const sharedTarget = keptTargets.get(key);
    const target =
      sharedTarget ?? this.#targets.get(key) ?? new Target(url, tls, ca, timeouts.keepAlive, this.#context);
    // Versions that share a target may have different keep-alive times. The shortest one is safe for all of them.
    target.connections.keepAlive = sharedTarget
      ? shorter(sharedTarget.connections.keepAlive, timeouts.keepAlive)
      : timeouts.keepAlive;
    keptTargets.set(key, target);
    return target;
  }
}

/** A target has one health state. If several versions share it, the first version with a probe path decides how it is probed. */
function activate(target: Target, versions: readonly Version[]): void {
  const decisive = versions.find(({ health }) => health.path !== undefined) ?? versions[0];
  const isOnlyTarget = versions.every(({ targets }) => targets.length < 2);
  if (decisive) target.activate(decisive.health, isOnlyTarget);
}

/** The shorter of two times; 0 means for ever. */
function shorter(a: number, b: number): number {
  if (a === 0) return b;
  return b === 0 ? a : Math.min(a, b);
}
