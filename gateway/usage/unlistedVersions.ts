const hourMs = 3_600_000;
// In an hour; the next ones are counted without a name. A scanner must not fill the ledger with versions.
const maxNames = 100;

/**
 * The names of versions that are asked for and that routes.yaml does not list: one that was removed has clients that
 * should be found all the same.
 */
export class UnlistedVersions {
  readonly #names = new Set<string>();
  #hour = 0;

  /** The version in a path that belongs to no version, and what is asked of it; undefined where it has no such name. */
  find(
    path: string,
    basePath: string,
    at: number,
  ): { readonly version: string; readonly resource: string } | undefined {
    if (!path.startsWith(basePath)) return undefined;
    const inside = path.slice(basePath.length);
    const version = /^\/(v(?:0|[1-9]\d{0,2}))(?:\/|$)/.exec(inside)?.[1];
    if (version === undefined) return undefined;
    const hour = Math.floor(at / hourMs);
    // A stream that began in an earlier hour ends no hour for the others.
    if (hour > this.#hour) {
      this.#names.clear();
      this.#hour = hour;
    }
    if (this.#names.size >= maxNames && !this.#names.has(version)) return undefined;
    this.#names.add(version);
    return { version, resource: inside.slice(version.length + 1) };
  }
}
