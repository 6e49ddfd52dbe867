import { apiPathOf, baseOf, listedBases, nameIn, rootBase, segmentOf, servesApi } from '../../config/api.ts';
import type { BrownoutWindow } from '../../config/clientRules.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { rfc3339 } from '../../shared/instant.ts';
import { brownoutKey, type CancelledBrownouts } from '../../versions/lifecycle/brownouts.ts';
import { guidePath } from '../../versions/lifecycle/guide.ts';
import { latestVersion, runningWaivers, type Stage, stageOf, successorOf } from '../../versions/lifecycle/stage.ts';
import { catalogPath, contractPath, contractType, greaseCurlCommand, indexPath, versionPath } from './paths.ts';

/** All versions of an API at one instant: the content of its pages. */
export interface Overview {
  readonly now: number;
  readonly base: string;
  /** The path of the API: '', or `/api/orders`. */
  readonly path: string;
  /** `public_url`. If it is not set: empty, and all URLs are root-relative. */
  readonly origin: string;
  /** Lowest major first. */
  readonly versions: readonly VersionOverview[];
  readonly latest: Version | undefined;
  /** The URL at which a client sees its own calls; undefined: self-service is off. */
  readonly ownUsageUrl: string | undefined;
  /** Whether the host serves the API. False for the one at the root, if only others have versions. */
  readonly isServed: boolean;
  /** The other APIs that the host lists. Empty except at the root. */
  readonly otherApis: readonly { readonly api: string; readonly url: string }[];
  /** As of the snapshot. */
  readonly filesChangedAt: number;
}

/** The APIs whose versions are on a page. The first one has the page. */
export type Overviews = readonly [Overview, ...Overview[]];

export interface VersionOverview {
  readonly version: Version;
  readonly stage: Stage;
  readonly url: string;
  readonly successor: Successor | undefined;
  /** If the version is retired, only the brownouts that are over, because the others have no effect. */
  readonly brownouts: readonly AnnouncedBrownout[];
  /** Whether the version is retired, but still serves some clients. */
  readonly isWaived: boolean;
  /** The URL of the contract. */
  readonly contract: string | undefined;
  /** The URL of the migration guide to the successor. */
  readonly guide: string | undefined;
  /** The command that asks for unknown members. */
  readonly grease: string | undefined;
  readonly adaptation: Adaptation | undefined;
}

interface Successor {
  readonly id: string;
  /** As the pages of the API name it. */
  readonly name: string;
  readonly url: string;
  /** The part of an index that describes it. */
  readonly about: string;
}

/** The facts about the adapter of a version that matter to its clients. */
interface Adaptation {
  readonly from: { readonly name: string; readonly url: string };
  /** The routes of the published contract that are answered 410. */
  readonly unavailable: readonly { readonly route: string; readonly reason: string | undefined }[];
}

/** `cancelled`: when the brownout was skipped or stopped, epoch ms; undefined: it was not. */
interface AnnouncedBrownout extends BrownoutWindow {
  readonly cancelled: number | undefined;
}

/** The API at the root first: it is the page of the host. Then the other APIs that the host lists. */
export function overviewsOfHost(snapshot: Snapshot, now: number, cancelled?: CancelledBrownouts): Overviews {
  const others = listedBases(snapshot).map((base) => overviewOf(snapshot, base, now, cancelled));
  return [overviewOf(snapshot, rootBase, now, cancelled), ...others];
}

export function overviewOf(
  snapshot: Snapshot,
  base: string,
  now: number,
  cancelled: CancelledBrownouts = new Map(),
): Overview {
  const { basePath, selfService, publicUrl: origin = '' } = snapshot.gateway;
  const path = basePath + base;
  const urlOf = (version: Version): string => origin + versionPath(version, snapshot);
  const ownVersions = snapshot.sortedVersions.filter(({ name }) => baseOf(name) === base);
  const versions = ownVersions.map((version): VersionOverview => {
    const successor = successorOf(version, snapshot, now);
    const contract = contractPath(version, snapshot);
    const guide = guidePath(version, successor, snapshot);
    const stage = stageOf(version, now);
    return {
      version,
      stage,
      brownouts: version.brownouts
        .filter(({ end }) => stage !== 'retired' || end <= now)
        .map((window) => ({ ...window, cancelled: cancelled.get(brownoutKey(version.name, window)) })),
      isWaived: runningWaivers(version, now).length > 0,
      url: urlOf(version),
      successor: successor && {
        id: successor.name,
        name: nameIn(base, successor.name),
        url: urlOf(successor),
        about: partAbout(successor, base, snapshot),
      },
      contract: contract && origin + contract,
      guide: guide && origin + guide,
      grease:
        stage === 'retired'
          ? undefined
          : greaseCurlCommand(version, urlOf(version), { mayNameRoute: version.contract?.publish === true }),
      adaptation: stage === 'retired' ? undefined : adaptationOf(version, snapshot, urlOf),
    };
  });
  const isServed = servesApi(base, snapshot);
  const otherBases = base === rootBase ? listedBases(snapshot) : [];
  return {
    now,
    base,
    path,
    origin,
    versions,
    latest: latestVersion(snapshot, base, now),
    ownUsageUrl: selfService === 'on' && isServed ? `${origin}${path}/versions/me` : undefined,
    isServed,
    otherApis: otherBases.map((api) => ({ api, url: `${origin}${basePath}${api}` })),
    filesChangedAt: snapshot.filesChangedAt,
  };
}

/** The part of an index that describes a version, for a link in the index of the API with this base. */
function partAbout({ name }: Version, base: string, snapshot: Snapshot): string {
  const part = `#about-${segmentOf(name)}`;
  return baseOf(name) === base ? part : indexPath(apiPathOf(name, snapshot)) + part;
}

function adaptationOf(
  { adapter, contract }: Version,
  { versions }: Snapshot,
  urlOf: (version: Version) => string,
): Adaptation | undefined {
  const from = adapter?.mode === 'serve' ? versions.get(adapter.from) : undefined;
  if (adapter === undefined || from === undefined) return undefined;
  const adaptedRoutes = new Map(adapter.routes.map((route) => [`${route.method} ${route.path}`, route]));
  const contractRoutes = (contract?.paths.entries() ?? []).flatMap(([path, methods]) =>
    methods.split(' ').flatMap((method) => (clientMethods.has(method) ? `${method} ${path}` : [])),
  );
  // If a path of the contract is a `$ref`, its methods are not known here, but the adapter may name some.
  const publishedRoutes = contract?.publish ? new Set([...contractRoutes, ...adaptedRoutes.keys()]) : [];
  const unavailable = [...publishedRoutes].flatMap((route) => {
    const adaptedRoute = adaptedRoutes.get(route);
    return adaptedRoute !== undefined && !('gone' in adaptedRoute) ? [] : [{ route, reason: adaptedRoute?.gone }];
  });
  return { from: { name: segmentOf(from.name), url: urlOf(from) }, unavailable };
}

// An adapter has no rows for the other methods: it answers HEAD with its row of GET, and OPTIONS with any row of the path.
const clientMethods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** The JSON form of the index. Keys without a value are omitted. */
export function overviewJson({ versions, latest, origin, ownUsageUrl, isServed, otherApis, now }: Overview): object {
  return {
    latest: latest && segmentOf(latest.name),
    versions: isServed
      ? versions.map(({ version, brownouts, stage, url, successor, contract, guide, grease, adaptation }) => ({
          version: segmentOf(version.name),
          url,
          stage,
          deprecation: rfc3339(version.deprecation),
          sunset: rfc3339(version.sunset),
          brownouts: brownoutsJson(brownouts, now),
          successor: successor && { name: successor.name, url: successor.url },
          contract,
          info: version.info,
          guide,
          grease,
          served_from: adaptation?.from,
          unavailable: adaptation && adaptation.unavailable.length > 0 ? adaptation.unavailable : undefined,
        }))
      : undefined,
    apis: otherApis.length > 0 ? otherApis : undefined,
    catalog: origin + catalogPath,
    me: ownUsageUrl,
  };
}

/** Whether a brownout is neither over nor cancelled. */
export function isCurrentOrAhead({ end, cancelled }: AnnouncedBrownout, now: number): boolean {
  return now < end && cancelled === undefined;
}

/** The current and future brownouts; undefined: there is none. `clients`: the share of clients that are refused, 0 to 1. */
function brownoutsJson(brownouts: readonly AnnouncedBrownout[], now: number): readonly object[] | undefined {
  const ahead = brownouts.filter((one) => isCurrentOrAhead(one, now));
  if (ahead.length === 0) return undefined;
  return ahead.map(({ at, end, clientShare: clients, routes }) => {
    const routeNames = routes?.map(({ method, path }) => `${method} ${path}`);
    return { starts_at: rfc3339(at), ends_at: rfc3339(end), clients, routes: routeNames };
  });
}

/** RFC 9727 §4: a linkset (RFC 9264) with its profile. */
export const catalogType = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';

/**
 * The API catalog: one link context for each version of the APIs that is not retired. Without `public_url` the references are relative to
 * the URL of the catalog (RFC 3986 §5.1.3). Relations: `service-desc`, `service-doc` (RFC 8631), `successor-version`
 * (RFC 5829), `deprecation` (RFC 9745), `sunset` (RFC 8594).
 */
export function catalogJson(overviews: Overviews): object {
  return {
    linkset: overviews.flatMap(({ versions, origin, path }) => {
      const current = versions.filter(({ stage }) => stage !== 'retired');
      return current.map((version) => linkContext(version, origin + indexPath(path)));
    }),
  };
}

interface LinkTarget {
  readonly href: string;
  readonly type?: string;
}

function linkContext({ version, stage, url, contract, successor, guide }: VersionOverview, index: string): object {
  const pages = [...(linkTargets(version.info) ?? []), ...(linkTargets(guide, 'text/html') ?? [])];
  const deprecationPages = stage === 'active' || pages.length === 0 ? undefined : pages;
  return {
    anchor: url,
    'service-desc': version.contract && linkTargets(contract, contractType(version.contract)),
    'service-doc': linkTargets(index, 'text/html'),
    'successor-version': linkTargets(successor?.url),
    deprecation: deprecationPages,
    sunset: version.sunset === undefined ? undefined : deprecationPages,
  };
}

function linkTargets(href: string | undefined, type?: string): readonly LinkTarget[] | undefined {
  if (href === undefined) return undefined;
  return [type === undefined ? { href } : { href, type }];
}
