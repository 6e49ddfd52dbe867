import { apiPathOf, baseOf, idIn, rootBase, segmentsOfIds } from '../../config/api.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import type { ActiveAdapter } from '../../contracts/adapters/serving/adaptedExchange.ts';
import type { ActiveGrease } from '../../contracts/grease/greasedExchange.ts';
import type { ClientIdentification } from '../../usage/counting/identification.ts';
import type { RouteAnswers } from '../../usage/counting/routeAnswers.ts';
import {
  type Announcement,
  announcementsAt,
  linksFor,
  pageLinks,
  RouteEnds,
} from '../../versions/lifecycle/announcement.ts';
import { isCounterpartKnown, type Stage } from '../../versions/lifecycle/stage.ts';
import { ClientRestrictions } from '../../versions/restrictions/clientRestrictions.ts';
import { type CacheVariation, greasedVariation, type LifecycleFields } from '../forwarding/responseFields.ts';
import type { UrlRewriting } from '../forwarding/rewrite.ts';
import { Pool, type RetryBudget, type RetryTarget } from '../upstream/pool.ts';
import type { Target } from '../upstream/target.ts';
import { type ConnectionLoad, guaranteedPlaces, type SharingVersion, TargetLimits } from '../upstream/targetLimits.ts';
import { VersionRequests } from './inFlight.ts';

/** A snapshot in use. A reload replaces it in one assignment. */
export interface ActiveSnapshot {
  readonly snapshot: Snapshot;
  readonly identification: ClientIdentification;
  /** From the id, such as `v1`, to its version. */
  readonly versions: ReadonlyMap<string, ActiveVersion>;
  /** How many segments of a target an id may have. */
  readonly segmentsOfIds: number;
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
  routeAnswers: RouteAnswers,
): ActiveSnapshot {
  const versions = new Map<string, ActiveVersion>();
  const announcements = new Announcements(snapshot);
  const versionsByTarget = new Map<Target, ActiveVersion[]>();
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
    const retryBudget = pools.get(name)?.budget ?? pool.budget;
    const one = new ActiveVersion({ version, snapshot, pool, retryBudget, requests, announcements, routeAnswers });
    versions.set(name, one);
    for (const target of pool.targets) versionsByTarget.set(target, [...(versionsByTarget.get(target) ?? []), one]);
  }
  for (const one of versions.values()) {
    const { requests, pool } = one;
    const sharing = pool.targets.flatMap((target) => versionsByTarget.get(target) ?? []);
    requests.requestsWithSharedTargets = [...new Set([requests, ...sharing.map((other) => other.requests)])];
    requests.targetUses.keepOnly(pool.targets);
    one.targetLimits = targetLimitsOf(one, versionsByTarget);
  }
  return { snapshot, identification, versions, segmentsOfIds: segmentsOfIds(snapshot), ofLastRequest: undefined };
}

/** `versionsByTarget`: the versions that use each target, through an adapter, too. */
function targetLimitsOf(
  one: ActiveVersion,
  versionsByTarget: ReadonlyMap<Target, readonly ActiveVersion[]>,
): TargetLimits {
  const sharing = new Map<Target, readonly SharingVersion[]>();
  for (const target of one.pool.targets) {
    const all = versionsByTarget.get(target) ?? [];
    const others = all.filter((other) => other !== one);
    // A tombstone gets no requests, so nothing is kept free for it.
    const servedCount = all.filter(({ version }) => isServed(version)).length;
    if (others.length === 0) continue;
    sharing.set(
      target,
      others.map(({ version, requests, inFlightPerTarget }) => {
        const limit = isServed(version) ? Math.min(one.inFlightPerTarget, inFlightPerTarget) : 0;
        return { use: requests.targetUses.of(target), guaranteed: guaranteedPlaces(limit, servedCount) };
      }),
    );
  }
  return new TargetLimits(one.inFlightPerTarget, one.requests.targetUses, sharing);
}

function isServed({ retired, waivers }: Version): boolean {
  return !retired || waivers.length > 0;
}

/** The version whose backend serves `version` through an adapter. Undefined: the version has a backend of its own. */
function adaptedFromOf({ adapter }: Version, { versions }: Snapshot): Version | undefined {
  return adapter?.mode === 'serve' ? versions.get(adapter.from) : undefined;
}

interface ActiveVersionParts extends Pick<ActiveVersion, 'version' | 'pool' | 'retryBudget' | 'requests'> {
  readonly snapshot: Snapshot;
  readonly announcements: Announcements;
  readonly routeAnswers: RouteAnswers;
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
  /** The prefix of the version in requests: `/v1`, or `/api/orders/v1`. */
  readonly path: string;
  /** The path of its API: '', or `/api/orders`. */
  readonly apiPath: string;
  /** The prefix that is removed from the path before it is sent; '' for none. */
  readonly removedPrefix: string;
  /** The authority of `public_url`; '' without one. */
  readonly publicAuthority: string;
  readonly requests: VersionRequests;
  /** Replaced once all versions are known. */
  targetLimits: TargetLimits;
  /** Undefined for most versions. */
  readonly restrictions: ClientRestrictions | undefined;
  /** What responses depend on, for Vary and Cache-Control. Undefined: all clients get the same responses. */
  readonly cacheVariation: CacheVariation | undefined;
  readonly #routeEnds: RouteEnds | undefined;
  readonly #announcements: Announcements;
  readonly #basePath: string;
  readonly #snapshot: Snapshot;
  readonly #routeAnswers: RouteAnswers;

  constructor({ version, snapshot, pool, retryBudget, requests, announcements, routeAnswers }: ActiveVersionParts) {
    const { basePath, publicUrl } = snapshot.gateway;
    this.adaptedFrom = adaptedFromOf(version, snapshot);
    const backendVersion = this.adaptedFrom ?? version;
    const stripped = backendVersion.prefix === 'strip';
    this.version = version;
    this.pool = pool;
    this.retryBudget = retryBudget;
    this.requests = requests;
    this.targetLimits = new TargetLimits(this.inFlightPerTarget, requests.targetUses);
    this.restrictions = ClientRestrictions.of(version, snapshot);
    // Restrictions depend on the client. Their `vary` has the fields that identify it.
    this.cacheVariation = version.grease ? greasedVariation(this.restrictions) : this.restrictions;
    this.#routeEnds = RouteEnds.of(version);
    const base = baseOf(version.name);
    this.path = `${basePath}/${version.name}`;
    this.apiPath = apiPathOf(version.name, snapshot);
    this.removedPrefix = stripped ? `${basePath}/${backendVersion.name}` : this.apiPath;
    this.urlRewriting = stripped
      ? {
          removedPrefix: this.removedPrefix,
          basePath: this.apiPath,
          versionBase: base === rootBase ? '' : this.apiPath,
          isVersion: (segment) => snapshot.versions.has(idIn(base, segment)),
        }
      : undefined;
    this.publicAuthority = publicUrl === undefined ? '' : new URL(publicUrl).host;
    this.#announcements = announcements;
    this.#snapshot = snapshot;
    this.#routeAnswers = routeAnswers;
    this.#basePath = basePath;
  }

  /** A target belongs to the version of its backend, so the limit of that version applies. */
  get inFlightPerTarget(): number {
    return (this.adaptedFrom ?? this.version).limits.inFlightPerTarget;
  }

  /** The target for a retry after `failed`. Undefined if there is none, or if the budget is used up. */
  pickAgain(failed: Target, where: RetryTarget): Target | undefined {
    return this.pool.pickAgain(this.targetLimits, failed, where, performance.now(), this.retryBudget);
  }

  /** Whether a waiting request may be sent or refused: one on `connection`, only those on other connections, or none. */
  roomFor(connection: ConnectionLoad | undefined): 'some' | 'others' | 'none' {
    const room = this.requests.roomFor(connection);
    if (room !== 'some' || this.pool.hasNoUsableTarget) return room;
    return this.pool.roomFor(this.targetLimits, connection);
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
      return { ...end, links: this.#links(method, path, { ...announcement, documentationLinks }) };
    }
    if (announcement.stage === 'active') return undefined;
    return {
      deprecation: announcement.deprecation,
      sunset: announcement.sunset,
      links: this.#links(method, path, announcement),
      deprecatedAt: this.version.deprecation,
    };
  }

  #links(method: string, path: string, announcement: Announcement): readonly string[] {
    // Usually no route is missing, and this look-up is all that a response costs.
    if (!this.#routeAnswers.isAnyMissing) return linksFor(path, announcement, this.#basePath);
    return linksFor(path, announcement, this.#basePath, (version, pathThere) => {
      const isMissing = this.#routeAnswers.isMissing(version, method, pathThere);
      return isMissing && !isCounterpartKnown(path, this.version, version, this.#snapshot);
    });
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
