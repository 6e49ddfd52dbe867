import { readFileSync } from 'node:fs';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { Pool } from './pool.ts';
import { Target } from './target.ts';

/** Keeps targets by URL, so that a new snapshot finds the ones it names with their sockets and counts. */
export class Registry {
  #targets = new Map<string, Target>();

  /** A pool a version, by its name. Targets that no version names any more are closed as they come to rest. */
  poolsFor(snapshot: Snapshot): Map<string, Pool> {
    const kept = new Map<string, Target>();
    const pools = new Map<string, Pool>();
    for (const version of snapshot.byMajor) {
      const members = version.targets.map(({ url, weight }) => ({
        target: this.#targetFor(url, version, kept),
        weight,
      }));
      pools.set(version.name, new Pool(members, version.balance));
    }
    for (const [key, target] of this.#targets) if (!kept.has(key)) target.connections.close();
    this.#targets = kept;
    return pools;
  }

  close(): void {
    for (const target of this.#targets.values()) target.connections.close();
  }

  #targetFor(url: string, { tls, timeouts }: Version, kept: Map<string, Target>): Target {
    const ca = url.startsWith('https:') && tls.ca !== undefined ? readFileSync(tls.ca) : undefined;
    // With another trust the same URL is another way to connect.
    const key = url.startsWith('https:') ? JSON.stringify([url, tls, ca?.toString('base64')]) : url;
    const first = kept.get(key);
    const target = first ?? this.#targets.get(key) ?? new Target(url, tls, ca, timeouts.keepAlive);
    // Versions that share a target may differ in this: then the shorter time is safe for both.
    target.connections.keepAlive = first
      ? shorter(first.connections.keepAlive, timeouts.keepAlive)
      : timeouts.keepAlive;
    kept.set(key, target);
    return target;
  }
}

/** Of two times of which 0 means for ever. */
function shorter(a: number, b: number): number {
  return a === 0 || b === 0 ? a + b : Math.min(a, b);
}
