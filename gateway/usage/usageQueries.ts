import type { AnswerSettings } from '../config/answerSettings.ts';
import type { Coverage } from './evidence/coverage.ts';
import type { SizesOfDay } from './evidence/requestSizes.ts';
import type { BrownoutRecord, EvidenceRow } from './usageRow.ts';

/**
 * The queries on the usage ledger, independent of its storage. Instants (`since`, `until`, …) in epoch ms, durations in ms. Rows
 * are sorted by requests, most first. No query rejects: if one fails, it returns no rows and sets `problem`.
 */
export interface UsageQueries {
  /**
   * What the ledger covers of `version`, or of all versions. A pause is a gap if it is longer than an hour, or longer than a tenth of
   * `quiet`, or if the run before it did not end cleanly. `until`: only the time before it counts. For `callFacts.ts`, which compares it
   * with a period.
   */
  coverage(version?: string, quiet?: number, until?: number): Promise<Coverage>;
  namingRules(): Promise<NamingRules>;
  /**
   * The largest requests to each route of a version on each day (UTC) from that of `since` on, which a backend answered and which did
   * not fail. Not sorted.
   */
  sizes(version: string, since: number): Promise<readonly RouteSizes[]>;
  /** From when on the ledger has the sizes of all requests, epoch ms; 0: it always had. Infinity: an earlier release wrote it. */
  sizesSince(): Promise<number>;
  /** The settings under which the ledger counts; undefined: an earlier release wrote it, or no gateway has written it yet. */
  answerSettings(): Promise<AnswerSettings | undefined>;
  /**
   * The first call of each client to a version, over the whole ledger. Returns the first calls at `since` or later and before
   * `before`, the earliest first, at most `limit`. Clients whose requests all failed and `other clients` are included.
   */
  firstCalls(version: string, since: number, before?: number, limit?: number): Promise<readonly FirstCall[]>;
  /** One row per version; '' is for requests without a version. */
  totals(since: number, until?: number): Promise<readonly VersionTotal[]>;
  /** As `totals`, but much faster, because it does not count the clients. */
  requests(since: number): Promise<readonly Omit<VersionTotal, 'clients'>[]>;
  /** Includes one row for `other clients`, if there are any. Only clients for which `isWanted` returns true. */
  byClient(version: string, since: number, isWanted?: (one: ClientCounts) => boolean): Promise<readonly ClientUse[]>;
  /** The start of the hour or day with which the counts of `byClient` begin, epoch ms. */
  beginOfClientCounts(since: number): Promise<number>;
  /**
   * One row per version and client, with one row per version for `other clients`. Requests without a version are left out.
   * `topRoutes` is filled only in rows for which `needsTopRoutes` returns true, and among these only in the ones with the most requests.
   */
  byVersionAndClient(
    since: number,
    needsTopRoutes: (row: VersionClientUse) => boolean,
  ): Promise<readonly VersionClientUse[]>;
  /** The clients whose first call of the version was at `since` or later, and that used the version. */
  newClients(version: string, since: number): Promise<readonly ClientCounts[]>;
  /** Requests that were counted as `other clients`, because the clients exceeded the limit. */
  requestsOfOtherClients(since: number, version?: string): Promise<number>;
  byRoute(version: string, since: number): Promise<readonly RouteUse[]>;
  /** As `byRoute`, but much faster, because it does not count the clients. */
  routes(version: string, since: number): Promise<readonly Omit<RouteUse, 'clients'>[]>;
  /** Requests of each version by hour or by day (UTC), oldest first. Hours or days without requests are left out. */
  series(step: 'hour' | 'day', since: number, version?: string): Promise<readonly SeriesPoint[]>;
  /** The names of the gateways that share the ledger; undefined if there is only one. */
  instances(): Promise<readonly string[] | undefined>;
  /** The requests to one of these gateways, of each version by day (UTC), oldest first. Days without requests are left out. */
  instanceDays(instance: string, since: number, version?: string): Promise<readonly InstanceDay[]>;
  /** The series of these clients of one version, by day. */
  clientSeries(version: string, clients: readonly string[], since: number): Promise<readonly ClientDay[]>;
  /** The last use of each version, without the clients for which `isIgnored` returns true. */
  lastUsed(isIgnored?: (one: Pick<ClientUse, 'client' | 'name'>) => boolean): Promise<ReadonlyMap<string, number>>;
  /**
   * Clients whose last use of a version was before `until`, the latest first. `usualPause` is set only for clients that
   * usually pause for about `shortestPause` or longer; without `shortestPause`, for none.
   */
  pastClients(version: string, until: number, now: number, shortestPause?: number): Promise<readonly PastClient[]>;
  /**
   * The clients that used a version on the days from `since` to `until` (UTC), and did not use it during the time `absence` before
   * `since`; the earliest first. If the ledger begins less than `absence` before `since`, clients without an earlier use are left out.
   */
  arrivals(version: string, period: ArrivalPeriod): Promise<readonly Arrival[]>;
  /** Every client of either version with its requests to each, without `other clients`. */
  movement(from: string, to: string, since: number): Promise<readonly ClientMovement[]>;
  /**
   * The requests of one client to each version and route of one API, without routes on which all its requests failed. `client`: its
   * name in the ledger. Undefined if no version of the API has ever answered the client 2xx. The same statements run for an unknown client
   * and for a client that was never answered 2xx, so that the time of the query does not tell which of these two it is.
   */
  acceptedUse(
    client: string,
    since: number,
    isOfApi: (version: string) => boolean,
  ): Promise<readonly AcceptedUse[] | undefined>;
  /** The queries about clients and their requests, restricted to these routes, by their names in the ledger. */
  ofRoutes(routes: readonly string[]): Promise<RouteQueries>;
  readonly brownouts: BrownoutQueries;
  /** Undefined in the store of a fleet, which has no evidence. */
  readonly evidence?: EvidenceQueries | undefined;
  /** Why the ledger cannot be written or read; undefined: it can. */
  readonly problem: string | undefined;
  /** `problem` and all other problems, such as a file of client names that cannot be read. */
  readonly problems: readonly string[];
  /** Rows that wait in memory until they can be written; 0 for a ledger that no running gateway writes. */
  readonly unwrittenRows: number;
}

/** Queries that can be restricted to some routes. Their problems are those of the `UsageQueries` that they come from. */
export type RouteQueries = Pick<
  UsageQueries,
  | 'byClient'
  | 'beginOfClientCounts'
  | 'newClients'
  | 'pastClients'
  | 'clientSeries'
  | 'series'
  | 'byRoute'
  | 'routes'
  | 'lastUsed'
>;

/** Sums over a period. Instants in epoch ms. */
export interface UsageSums {
  readonly requests: number;
  readonly errors: number;
  /** Requests that a backend answered. */
  readonly served: number;
  /** Requests that were answered 4xx, except those that a client may repeat (such as 429) and the refused ones. */
  readonly failing: number;
  /** Requests refused because the version is retired, frozen, in a brownout or not in routes.yaml. */
  readonly refused: number;
  readonly last: number;
}

export interface VersionTotal extends UsageSums {
  readonly version: string;
  /** The number of clients, without `other clients`. */
  readonly clients: number;
}

export interface ClientCounts extends UsageSums {
  readonly client: string;
  /** From the file `usage.names`; undefined if it has no name for this client. */
  readonly name: string | undefined;
  readonly first: number;
  /** The last request that neither failed nor was refused by a freeze, over the whole ledger; undefined: there is none. */
  readonly lastUsed: number | undefined;
}

/** How the clients in the ledger are named. Names from before `since` cannot be compared with later ones. */
export interface NamingRules {
  /** A hash of `usage.identify` and the salt. In a ledger of an earlier release, a text that is no such hash. */
  readonly id: string;
  /** Epoch ms; 0: no change is known. */
  readonly since: number;
}

/** The first request of a client to a version, refused or not. */
export interface FirstCall extends Pick<ClientCounts, 'client' | 'name' | 'first'> {
  /** The last request that neither failed nor was refused by a freeze; 0: there is none. */
  readonly lastUsed: number;
}

export interface ClientUse extends ClientCounts {
  /** The number of different routes. */
  readonly routes: number;
  /** The most used routes, most requests first. Only for the clients with the most requests. */
  readonly topRoutes: readonly RouteOfClient[];
}

/** The requests of one client to one version. */
export type VersionClientUse = UsageSums &
  Pick<ClientUse, 'client' | 'name' | 'topRoutes'> & {
    readonly version: string;
    /** As in `ClientCounts`. Undefined also for the rest of the requests, if the last use was on one of the other routes. */
    readonly lastUsed?: number | undefined;
  };

export interface RouteOfClient {
  readonly route: string;
  readonly requests: number;
  readonly last: number;
}

/** The requests to one route of a version, by a client that a backend has answered 2xx at least once. */
export interface AcceptedUse extends RouteOfClient {
  readonly version: string;
}

export interface RouteUse {
  readonly route: string;
  readonly requests: number;
  readonly errors: number;
  readonly failing: number;
  /** All requests failed, but one of an earlier hour, such as a stream, went on in the period. */
  readonly hasEarlierUse?: boolean | undefined;
  readonly clients: number;
  readonly last: number;
}

/** The largest requests to a route on one day. */
export interface RouteSizes extends SizesOfDay {
  readonly route: string;
}

export interface SeriesPoint {
  readonly version: string;
  /** The start of the hour or day. */
  readonly at: number;
  readonly requests: number;
  readonly failing: number;
}

/** The requests of one client to a version on one day. */
export type ClientDay = SeriesPoint & Pick<ClientUse, 'client'>;

/** The requests of a version to one gateway of a fleet on one day. */
export type InstanceDay = Omit<UsageSums, 'last'> & SeriesPoint;

/** A client that used a version before some instant, and not since. */
export interface PastClient {
  readonly client: string;
  readonly name: string | undefined;
  /** Requests that did not fail. */
  readonly requests: number;
  readonly first: number;
  /** The last use of the version. */
  readonly last: number;
  /** The usual pause between requests; undefined: it is shorter than `shortestPause`, or there are too few pauses. */
  readonly usualPause: number | undefined;
}

/** Instants in epoch ms. `absence`: for how long before `since` a client must not have used the version, ms. */
export interface ArrivalPeriod {
  readonly since: number;
  readonly until: number;
  readonly absence: number;
}

/** The first use of a version by a client, or its first use after a long pause. */
export interface Arrival {
  readonly client: string;
  readonly name: string | undefined;
  readonly at: number;
  /** Requests in the period that did not fail. */
  readonly requests: number;
  /** False: the client used the version before, and paused. */
  readonly isNew: boolean;
  /** The last use before the pause; undefined: there is none, or it was not looked up. */
  readonly lastUse: number | undefined;
}

/** The requests of one client to one version, for a comparison of two versions. */
export interface Movement {
  readonly requests: number;
  readonly failing: number;
  readonly last: number;
}

export interface ClientMovement {
  readonly client: string;
  readonly name: string | undefined;
  /** True if the client ever used the old version, over the whole ledger, with a request that did not fail. */
  readonly hasUsedOld: boolean;
  readonly from: Movement | undefined;
  readonly to: (Movement & { readonly first: number }) | undefined;
}

/** What comparisons of responses have found. Each gateway keeps its own. */
export interface EvidenceQueries {
  /** The rows of all comparisons of a version, also of those under contracts that have changed since. */
  of(version: string): Promise<readonly EvidenceRow[]>;
}

/** The queries on what brownouts have refused. */
export interface BrownoutQueries {
  /** The brownouts of a version that have refused requests, earliest first. */
  totals(version: string): Promise<readonly BrownoutTotal[]>;
  /** The stored decisions about the brownouts of a version: approved, skipped, stopped or ended. */
  decisions(version: string): Promise<readonly Omit<BrownoutRecord, 'version'>[]>;
  /** The clients that a brownout refused, most refused requests first. Includes a row for `other clients`, if there are any. */
  refused(period: BrownoutPeriod): Promise<readonly RefusedClient[]>;
  /**
   * The clients that called the version on the days (UTC) of a brownout and were not refused: those in `spared` (names in the
   * ledger) first, then most requests first, at most `limit`. `count`: how many there are without the limit.
   */
  notRefused(
    period: BrownoutPeriod,
    spared: readonly string[],
    limit: number,
  ): Promise<{ readonly count: number; readonly clients: readonly NotRefusedClient[] }>;
}

/** A brownout that has refused requests. Instants in epoch ms. */
export interface BrownoutTotal {
  readonly at: number;
  readonly refused: number;
  /** The number of clients, without `other clients`. */
  readonly clients: number;
  /** The last refused request. */
  readonly last: number;
}

/** A brownout of `version`, and until when later calls are looked for. Instants in epoch ms. */
export interface BrownoutPeriod {
  readonly version: string;
  readonly at: number;
  readonly end: number;
  /** A call of the version before this instant counts as a retry. */
  readonly retryUntil: number;
  /** A use of the successor counts only before this instant. */
  readonly moveUntil: number;
  readonly successor: string | undefined;
}

export interface RefusedClient {
  readonly client: string;
  readonly name: string | undefined;
  /** Requests that the brownout refused. */
  readonly refused: number;
  readonly first: number;
  readonly last: number;
  /** The last request to the version, refused or not, over the whole ledger. */
  readonly lastCall: number;
  /**
   * The client's last request to the version before `retryUntil`. If the client used the successor after it was refused, the
   * request may not be looked up: then this is 0.
   */
  readonly lastCallInRetryPeriod: number;
  /**
   * The client's last use of the successor before `moveUntil`; 0: there is none. Also 0, in some cases, if that use was before
   * the day of the brownout.
   */
  readonly successorUse: number;
}

export interface NotRefusedClient {
  readonly client: string;
  readonly name: string | undefined;
  /** On the days of the brownout. */
  readonly requests: number;
  readonly spared: boolean;
}
