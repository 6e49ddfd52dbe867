import type { UsageBatch } from '../../usage/usageRow.ts';

// A path is remembered for this long after a request to it was counted.
const keptMs = 10 * 60_000;
// Per version. The oldest paths are forgotten first.
const maxPaths = 50;
// Of all APIs.
const maxVersions = 500;

/**
 * One path of each route with parameters that a backend answered in the last minutes, for trials of new targets. The paths are kept
 * in memory only, because they may contain ids of persons.
 */
export class RecentPaths {
  /** Version → route → its last path. The route that was seen last is the last entry. */
  readonly #paths = new Map<string, Map<string, { readonly path: string; readonly at: number }>>();

  /** `now`: epoch ms. */
  note(batch: UsageBatch, now: number): void {
    for (const { version, route, example } of batch) {
      if (example === undefined || example === '') continue;
      const paths = this.#paths.get(version) ?? this.#addVersion(version);
      paths?.delete(route);
      paths?.set(route, { path: example, at: now });
      const [oldest] = paths?.keys() ?? [];
      if (paths && oldest !== undefined && paths.size > maxPaths) paths.delete(oldest);
    }
  }

  /** Paths below the version, the latest first. */
  of(version: string, now: number): readonly string[] {
    const paths = [...(this.#paths.get(version)?.values() ?? [])];
    // A time in the future was noted before the clock was set back.
    return paths
      .filter(({ at }) => now - at <= keptMs)
      .map(({ path }) => path)
      .reverse();
  }

  #addVersion(version: string) {
    if (this.#paths.size >= maxVersions) return undefined;
    const paths = new Map<string, { readonly path: string; readonly at: number }>();
    this.#paths.set(version, paths);
    return paths;
  }
}
