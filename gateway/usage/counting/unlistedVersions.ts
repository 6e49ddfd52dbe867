const hourMs = 3_600_000;
// Per hour. Requests to further versions are counted without a version: a scanner must not fill the ledger.
const maxNames = 100;

/**
 * Recognizes versions in request paths that routes.yaml does not list, so that the clients of a version that was removed
 * from it are still counted.
 */
export class UnlistedVersions {
  readonly #names = new Set<string>();
  #hour = 0;

  /** The version in a path that matches no listed one, and the rest of the path; undefined if there is none. */
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
    // A stream that ends now may have begun in an earlier hour. It does not change the current hour.
    if (hour > this.#hour) {
      this.#names.clear();
      this.#hour = hour;
    }
    if (this.#names.size >= maxNames && !this.#names.has(version)) return undefined;
    this.#names.add(version);
    return { version, resource: inside.slice(version.length + 1) };
  }
}
