import type { PastClient } from './pastClients.ts';

/** What can be asked of the ledger. `since` and `until` are epoch ms; rows come most requests first. */
export interface UsageQueries {
  /**
   * Since when requests have been counted, without a pause of more than an hour, or of a tenth of `quiet` (ms) if that is
   * shorter; undefined: the ledger holds nothing.
   */
  coveredSince(quiet?: number): number | undefined;
  /** One row a version, '' for what named no version that is known. */
  totals(since: number, until?: number): readonly VersionTotal[];
  /** What is counted as `other clients` is one of them. */
  byClient(version: string, since: number): readonly ClientUse[];
  /** How many requests of that time are of clients that were too many to be told apart: who they are is not known. */
  folded(since: number, version?: string): number;
  byRoute(version: string, since: number): readonly RouteUse[];
  /** Requests of each version by hour or by day (UTC), oldest first; spans without requests are left out. */
  series(step: 'hour' | 'day', since: number, version?: string): readonly SeriesPoint[];
  /** The same for one client of one version, by day. */
  clientSeries(version: string, client: string, since: number): readonly SeriesPoint[];
  /** When each version was last used, clients left out for which `isIgnored` says so. */
  lastUsed(isIgnored?: (one: Pick<ClientUse, 'client' | 'name'>) => boolean): ReadonlyMap<string, number>;
  /**
   * Clients that used a version before `until` and not since, the latest first. `least`: how long a pause has to be to
   * count as usual; undefined: pauses are not looked at.
   */
  pastClients(version: string, until: number, now: number, least?: number): readonly PastClient[];
  /** Every client of either version, with what it did in each; without those that were too many to be told apart. */
  movement(from: string, to: string, since: number): readonly ClientMovement[];
  /** What keeps the ledger from being written, in words; undefined: nothing. */
  readonly problem: string | undefined;
  /** That, and whatever else is not well, such as a file of names that cannot be read. */
  readonly problems: readonly string[];
  /** Rows that wait in memory until they can be written; 0 where nobody writes. */
  readonly held: number;
}

export interface VersionTotal {
  readonly version: string;
  readonly requests: number;
  readonly errors: number;
  readonly served: number;
  /** Answered 4xx, and refused because the version is retired or not in routes.yaml. */
  readonly failing: number;
  readonly refused: number;
  /** Of those that were told apart. */
  readonly clients: number;
  readonly last: number;
}

export interface ClientUse {
  readonly client: string;
  /** From `usage.names`; undefined where it has none. */
  readonly name: string | undefined;
  readonly requests: number;
  readonly errors: number;
  readonly served: number;
  /** Answered 4xx, and refused because the version is retired or not in routes.yaml. */
  readonly failing: number;
  readonly refused: number;
  readonly first: number;
  readonly last: number;
  /** When the last request of all came that did not fail; undefined: never, as far as the ledger remembers. */
  readonly used: number | undefined;
  /** How many different ones. */
  readonly routes: number;
  /** The most used ones, most requests first. Of the biggest clients only, and as far back as they were counted. */
  readonly topRoutes: readonly RouteOfClient[];
}

export interface RouteOfClient {
  readonly route: string;
  readonly requests: number;
  readonly last: number;
}

export interface RouteUse {
  readonly route: string;
  readonly requests: number;
  readonly errors: number;
  readonly failing: number;
  readonly clients: number;
  readonly last: number;
}

export interface SeriesPoint {
  readonly version: string;
  /** When the hour or day begins. */
  readonly at: number;
  readonly requests: number;
  readonly failing: number;
}

export interface Movement {
  readonly requests: number;
  readonly failing: number;
  readonly last: number;
}

export interface ClientMovement {
  readonly client: string;
  readonly name: string | undefined;
  /** Whether it has used the old version at any time that the ledger remembers, and not only failed there. */
  readonly before: boolean;
  readonly from: Movement | undefined;
  readonly to: (Movement & { readonly first: number }) | undefined;
}
