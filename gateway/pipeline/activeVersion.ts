import type { ActiveAdapter } from '../adapters/adaptedExchange.ts';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { type CacheVariation, greasedVariation, type LifecycleFields } from '../forwarding/responseFields.ts';
import type { UrlRewriting } from '../forwarding/rewrite.ts';
import type { ActiveGrease } from '../grease/greasedExchange.ts';
import { type Announcement, announcementsAt, linksFor, pageLinks, RouteEnds } from '../lifecycle/announcement.ts';
import type { Stage } from '../lifecycle/stage.ts';
import { ClientRestrictions } from '../restrictions/clientRestrictions.ts';
import { Pool, type RetryBudget, type RetryTarget } from '../upstream/pool.ts';
import type { Target } from '../upstream/target.ts';
import type { ClientIdentification } from '../usage/counting/identification.ts';
import { VersionRequests } from './inFlight.ts';

/** A snapshot in use. A reload replaces it in one assignment. */
export interface ActiveSnapshot {
  readonly snapshot: Snapshot;
  readonly identification: ClientIdentification;
  /** From the path segment, such as `v1`, to its version. */
  readonly versions: ReadonlyMap<string, ActiveVersion>;
  /** The version of the last request. The next request is probably for the same version. */
  ofLastRequest: ActiveVersion | undefined;
}

/**
 * Makes a snapshot the active one. The keys of `pools` and `requestsByVersion` are names of versions. `requestsByVersion` is kept
 * across reloads; it gets an entry for each new version.
 */
export function activate(
  snapshot: Snapshot,
  pools: ReadonlyMap<string, Pool>,
  requestsByVersion: Map<string, VersionRequests>,
  identification: ClientIdentification,
): ActiveSnapshot {
  const versions = new Map<string, ActiveVersion>();
  const announcements = new Announcements(snapshot);
  const requestsByTarget = new Map<Target, VersionRequests[]>();
  for (const version of snapshot.sortedVersions) {
    const { name } = version;
    const backend = adaptedFromOf(version, snapshot)?.name ?? name;
    const requests = requestsByVersion.get(name) ?? new VersionRequests();
    requestsByVersion.set(name, requests);
    requests.maxInFlight = version.limits.inFlight;
    // The admin API reports no failures of an adapter that a reload has replaced.
    const adapterHash = version.adapter?.derivedFromContracts?.hash;
    if (adapterHash !== undefined) requests.adapterState?.forgetAdapterExcept(adapterHash);
    const pool = pools.get(backend) ?? new Pool([], version.balance);
    for (const target of pool.targets)
      requestsByTarget.set(target, [...(requestsByTarget.get(target) ?? []), requests]);
    const retryBudget = pools.get(name)?.budget ?? pool.budget;
    versions.set(name, new ActiveVersion({ version, snapshot, pool, retryBudget, requests, announcements }));
  }
  for (const { requests, pool } of versions.values()) {
    const sharing = pool.targets.flatMap((target) => requestsByTarget.get(target) ?? []);
    requests.requestsWithSharedTargets = [...new Set([requests, ...sharing])];
  }
  return { snapshot, identification, versions, ofLastRequest: undefined };
}

/** The version whose backend serves `version` through an adapter. Undefined: the version has a backend of its own. */
function adaptedFromOf({ adapter }: Version, { versions }: Snapshot): Version | undefined {
  return adapter?.mode === 'serve' ? versions.get(adapter.from) : undefined;
}

interface ActiveVersionParts extends Pick<ActiveVersion, 'version' | 'pool' | 'retryBudget' | 'requests'> {
  readonly snapshot: Snapshot;
  readonly announcements: Announcements;
}

/** A version of the snapshot in use, with everything that is the same for all its requests. */
export class ActiveVersion {
  readonly version: Version;
  /** The targets that serve this version: the targets of `adaptedFrom`, if it is set. */
  readonly pool: Pool;
  /** The budget by the settings of this version, even if `pool` is the pool of `adaptedFrom`. */
  readonly retryBudget: RetryBudget;
  /** The version whose backend serves this version through an adapter. Undefined: the version has a backend of its own. */
  readonly adaptedFrom: Version | undefined;
  /** Set by the first request of a version with `adaptedFrom`. */
  adapter: ActiveAdapter | undefined;
  /** Set by the first request of a version with `grease`. */
  grease: ActiveGrease | undefined;
  /** How the prefix is restored in URLs of responses. Undefined if the prefix is forwarded. An adapter replaces this value. */
  urlRewriting: UrlRewriting | undefined;
  /** The prefix that is removed from the path before it is sent; '' for none. */
  readonly removedPrefix: string;
  /** The authority of `public_url`; '' without one. */
  readonly publicAuthority: string;
  readonly requests: VersionRequests;
  /** Undefined for most versions. */
  readonly restrictions: ClientRestrictions | undefined;
  /** What responses depend on, for Vary and Cache-Control. Undefined: all clients get the same responses. */
  readonly cacheVariation: CacheVariation | undefined;
  readonly #routeEnds: RouteEnds | undefined;
  readonly #announcements: Announcements;
  readonly #basePath: string;

  constructor({ version, snapshot, pool, retryBudget, requests, announcements }: ActiveVersionParts) {
    const { basePath, publicUrl } = snapshot.gateway;
    this.adaptedFrom = adaptedFromOf(version, snapshot);
    const backendVersion = this.adaptedFrom ?? version;
    const stripped = backendVersion.prefix === 'strip';
    this.version = version;
    this.pool = pool;
    this.retryBudget = retryBudget;
    this.requests = requests;
    this.restrictions = ClientRestrictions.of(version, snapshot);
    // Restrictions depend on the client. Their `vary` has the fields that identify it.
    this.cacheVariation = version.grease ? greasedVariation(this.restrictions) : this.restrictions;
    this.#routeEnds = RouteEnds.of(version);
    this.removedPrefix = stripped ? `${basePath}/${backendVersion.name}` : basePath;
    this.urlRewriting = stripped
      ? { removedPrefix: this.removedPrefix, basePath, isVersion: (segment) => snapshot.versions.has(segment) }
      : undefined;
    this.publicAuthority = publicUrl === undefined ? '' : new URL(publicUrl).host;
    this.#announcements = announcements;
    this.#basePath = basePath;
  }

  /** A target belongs to the version of its backend, so the limit of that version applies. */
  get inFlightPerTarget(): number {
    return (this.adaptedFrom ?? this.version).limits.inFlightPerTarget;
  }

  /** The target for a retry after `failed`. Undefined if there is none, or if the budget is used up. */
  pickAgain(failed: Target, where: RetryTarget): Target | undefined {
    return this.pool.pickAgain(this.inFlightPerTarget, failed, where, performance.now(), this.retryBudget);
  }

  stage(now: number): Stage {
    return this.#announcements.of(this.version, now)?.stage ?? 'active';
  }

  /** Undefined in the stage `active`. */
  successor(now: number): Version | undefined {
    const announcement = this.#announcements.of(this.version, now);
    return announcement?.stage === 'active' ? undefined : announcement?.chainToSuccessor?.lastVersion;
  }

  /**
   * The lifecycle fields of a response to `path` (without version and query). Undefined if neither the version nor this route
   * of it ends.
   */
  lifecycle(method: string, path: string, now: number): LifecycleFields | undefined {
    const announcement = this.#announcements.of(this.version, now);
    if (announcement === undefined) return undefined;
    const end = this.#routeEnds?.find(method, path);
    if (end !== undefined) {
      const documentationLinks = pageLinks(announcement.page, end);
      return { ...end, links: linksFor(path, { ...announcement, documentationLinks }, this.#basePath) };
    }
    if (announcement.stage === 'active') return undefined;
    return {
      deprecation: announcement.deprecation,
      sunset: announcement.sunset,
      links: linksFor(path, announcement, this.#basePath),
      deprecatedAt: this.version.deprecation,
    };
  }
}

/** The announcements of all versions, computed once a second: the dates in the headers have no finer resolution. */
class Announcements {
  readonly #snapshot: Snapshot;
  #second = Number.NaN;
  #byVersion: ReadonlyMap<Version, Announcement> = new Map();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  /** Undefined for a version that is active at `now` and has no route that ends. */
  of(version: Version, now: number): Announcement | undefined {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#byVersion = announcementsAt(this.#snapshot, now);
    }
    return this.#byVersion.get(version);
  }
}
