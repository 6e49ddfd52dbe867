import type { Snapshot, Version } from '../config/snapshot.ts';
import { readRegularFile } from '../shared/fileSystem.ts';
import { RetryBudget } from './budget.ts';
import { Pool } from './pool.ts';
import { type Resolve, systemResolve } from './resolver.ts';
import { type Surroundings, Target } from './target.ts';

/** Keeps targets by URL, so that a new snapshot finds the ones it names with their sockets, health and counts. */
export class Registry {
  readonly #surroundings: Surroundings;
  #targets = new Map<string, Target>();
  #budgets = new Map<string, RetryBudget>();

  constructor({ resolve = systemResolve }: { readonly resolve?: Resolve } = {}) {
    this.#surroundings = { changes: { count: 0 }, resolve };
  }

  /** A pool a version, by its name. Targets that no version names any more are closed as they come to rest. */
  poolsFor(snapshot: Snapshot): Map<string, Pool> {
    const kept = new Map<string, Target>();
    const users = new Map<Target, Version[]>();
    const pools = new Map<string, Pool>();
    const budgets = new Map<string, RetryBudget>();
    for (const version of snapshot.byMajor) {
      const members = version.targets.map(({ url, weight }) => ({
        target: this.#targetFor(url, version, kept),
        weight,
      }));
      for (const { target } of members) users.set(target, [...(users.get(target) ?? []), version]);
      const budget = this.#budgets.get(version.name) ?? new RetryBudget();
      budget.configure(version.retries);
      budgets.set(version.name, budget);
      const { changes } = this.#surroundings;
      const { onNoneHealthy } = version.health;
      pools.set(version.name, new Pool(members, version.balance, { changes, budget, onNoneHealthy }));
    }
    for (const [key, target] of this.#targets) if (!kept.has(key)) target.close();
    this.#targets = kept;
    this.#budgets = budgets;
    for (const [target, versions] of users) engage(target, versions);
    return pools;
  }

  close(): void {
    for (const target of this.#targets.values()) target.close();
  }

  #targetFor(url: string, { tls, timeouts }: Version, kept: Map<string, Target>): Target {
    const ca = url.startsWith('https:') && tls.ca !== undefined ? readRegularFile(tls.ca) : undefined;
    // With another trust the same URL is another way to connect.
    const key = url.startsWith('https:') ? JSON.stringify([url, tls, ca?.toString('base64')]) : url;
    const first = kept.get(key);
    const target = first ?? this.#targets.get(key) ?? new Target(url, tls, ca, timeouts.keepAlive, this.#surroundings);
    // Versions that share a target may differ in this: then the shorter time is safe for both.
    target.connections.keepAlive = first
      ? shorter(first.connections.keepAlive, timeouts.keepAlive)
      : timeouts.keepAlive;
    kept.set(key, target);
    return target;
  }
}

/** A target has one health. Of the versions that share it, the first one that has it probed says how. */
function engage(target: Target, versions: readonly Version[]): void {
  const decisive = versions.find(({ health }) => health.path !== undefined) ?? versions[0];
  if (decisive)
    target.engage(
      decisive.health,
      versions.every(({ targets }) => targets.length < 2),
    );
}

/** Of two times of which 0 means for ever. */
function shorter(a: number, b: number): number {
  return a === 0 || b === 0 ? a + b : Math.min(a, b);
}
