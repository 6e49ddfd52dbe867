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
      pools.set(version.name, new Pool(version.targets.map(({ url }) => this.#targetFor(url, version, kept))));
    }
    for (const [key, target] of this.#targets) if (!kept.has(key)) target.connections.close();
    this.#targets = kept;
    return pools;
  }

  close(): void {
    for (const target of this.#targets.values()) target.connections.close();
  }

  #targetFor(url: string, version: Version, kept: Map<string, Target>): Target {
    // The same URL with another trust or another time to idle is another way to connect.
    const key = `${url} ${JSON.stringify(version.tls)} ${version.timeouts.keepAlive}`;
    const target = kept.get(key) ?? this.#targets.get(key) ?? new Target(url, version.tls, version.timeouts.keepAlive);
    kept.set(key, target);
    return target;
  }
}
