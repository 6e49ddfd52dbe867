import type { Snapshot, Version } from '../config/snapshot.ts';
import { RouteEnds } from '../lifecycle/announcement.ts';
import { type Stage, stageOf, successorOf } from '../lifecycle/stage.ts';
import type { ServingReport } from '../observability/report.ts';
import { onlyFails } from '../usage/counting/countedExchange.ts';
import { currentNameOf, type LedgerRoute, requestsWithoutRoute } from '../usage/counting/routeNames.ts';
import { completeDays, type Day, type Trend, trendOf } from '../usage/report/trend.ts';
import type { ClientCounts, ClientUse, PastClient, RouteQueries, UsageQueries } from '../usage/usageQueries.ts';
import { isSingleClient } from '../usage/usageRow.ts';
import {
  allRequestsOf,
  type CountedClients,
  type CountedRoute,
  type IsIgnored,
  ignoredBy,
  ignoredOrWaived,
  isUsing,
  type RouteWithClients,
  routesLost,
  routesWithClients,
  withAtLeastOneRequest,
} from './countedUsage.ts';

/** Everything that the verdict about a version, or one of its routes, depends on. Instants in epoch ms, durations in ms. */
export interface RetirementFacts extends CountedClients {
  /** The path segment: `v1`. */
  readonly version: string;
  /** Undefined: the verdict is about the whole version. Otherwise the dates and counts are those of the route. */
  readonly route: LedgerRoute | undefined;
  /** For a route: requests to the version that were counted without their route. Some of them may be requests to the route. */
  readonly withoutRoute: number;
  readonly now: number;
  /** `removed`: routes.yaml does not list it any more, and its clients get 404. */
  readonly stage: Stage | 'removed';
  readonly deprecation: number | undefined;
  readonly sunset: number | undefined;
  /** The required length of the quiet period. */
  readonly quiet: number;
  /** The start of the quiet period. Rounded down to an hour unless `quiet` is below an hour, because the ledger counts by hours. */
  readonly since: number;
  /** `retire.max_share`: the share of all requests that may be lost, 0 to 1. */
  readonly maxShare: number;
  readonly retention: number;
  readonly coveredSince: number | undefined;
  /** Why the ledger cannot be written or read. */
  readonly problem: string | undefined;
  /** Clients whose requests were all answered 4xx. They do not count as users of the version. */
  readonly failing: readonly ClientUse[];
  /**
   * Clients of `failing` that probably fail because the backend is broken: routes fail that worked before, and the client's last use
   * was at most `quiet` before the last use by any client. Empty if any client uses the version.
   */
  readonly lostService: readonly ClientUse[];
  /** Clients that were answered 410, or 404 if the version is removed. The client with the most refused requests is first. */
  readonly refused: readonly ClientUse[];
  /** Clients that did not call in the quiet period, but usually pause that long and are not overdue; the latest first. */
  readonly infrequent: readonly PastClient[];
  /** The other clients that used the version before the quiet period and not since; the latest first. */
  readonly gone: readonly PastClient[];
  /** The clients that sent requests, but do not count because of `retire.ignore_clients` or a waiver. */
  readonly ignored: readonly ClientUse[];
  /** Clients first seen after the deprecation; undefined before it, or if the ledger does not go back that far. */
  readonly newClients: readonly ClientCounts[] | undefined;
  readonly trend: Trend;
  /** Used routes that the successor does not have. */
  readonly lostRoutes: readonly RouteWithClients[];
  /** Routes on which every request failed. */
  readonly failingRoutes: readonly RouteWithClients[];
  /** Requests in flight and waiting requests, in the whole fleet. */
  readonly inFlight: number;
  readonly waiting: number;
  /** Since when a worker of this gateway has not answered. It may have counts that are not in the ledger. */
  readonly unresponsiveSince: number | undefined;
  /** The clients that are still served after the retirement, each until its waiver ends. */
  readonly waivers: Version['waivers'];
  /** The version whose backend serves this version through an adapter, `v2`; undefined: no adapter serves it. */
  readonly adaptedFrom: string | undefined;
  readonly successor: SuccessorFacts | undefined;
  /** Undefined: this gateway is not part of a fleet. */
  readonly fleet: FleetFacts | undefined;
}

/** What the verdict needs to know of the fleet. */
export interface FleetFacts {
  /** The number of gateways that were heard, including this one. */
  readonly heard: number;
  /** Requests in flight and waiting requests, in the other gateways that were heard. */
  readonly inFlight: number;
  readonly waiting: number;
  /** Why calls of the quiet period may be missing in the ledger. */
  readonly gaps: readonly Remark[];
  /** Why the most recent calls may be missing in the ledger. They arrive within some seconds. */
  readonly remarksOnUnsent: readonly Remark[];
  readonly notes: readonly Remark[];
}

/** A reason or a note of the verdict. */
export interface Remark {
  readonly code: string;
  /** One or two sentences, safe to print. */
  readonly text: string;
}

export interface SuccessorFacts {
  /** The path segment: `v2`. */
  readonly version: string;
  readonly targets: number;
  /** The targets that are healthy and reachable. */
  readonly healthy: number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export interface FactSources {
  readonly snapshot: Snapshot;
  readonly queries: UsageQueries;
  readonly report: ServingReport;
  readonly fleet?: FleetFacts | undefined;
}

/** A version, or one of its routes. routes.yaml need not list the version any more. */
export interface RetirementSubject extends Pick<Version, 'name'> {
  readonly route?: LedgerRoute | undefined;
}

/** `quiet` in ms. */
export async function gatherFacts(
  subject: RetirementSubject,
  sources: FactSources,
  quiet: number,
  now: number,
): Promise<RetirementFacts> {
  const facts = await factsWithoutProblem(subject, sources, quiet, now);
  // Read last: a query that failed returned no rows, as if no client had called.
  return { ...facts, problem: sources.queries.problem };
}

async function factsWithoutProblem(
  { name, route }: RetirementSubject,
  sources: FactSources,
  quiet: number,
  now: number,
): Promise<Omit<RetirementFacts, 'problem'>> {
  const { snapshot, report, fleet } = sources;
  const version = snapshot.versions.get(name);
  const queries: RouteQueries = route ? await sources.queries.ofRoutes(route.names) : sources.queries;
  // Counts are per hour, so a period below an hour selects clients by the exact time of their last request.
  const sinceHour = Math.floor((now - quiet) / hourMs) * hourMs;
  const since = quiet < hourMs ? now - quiet : sinceHour;
  // The end of a route refuses no request, so waivers do not apply to it.
  const retire = route ? snapshot.retire : { ...snapshot.retire, ignoreClients: ignoredOrWaived(snapshot, name, now) };
  const isIgnored = ignoredBy(retire.ignoreClients);
  const callers = (await queries.byClient(name, sinceHour)).filter(({ last }) => last >= since);
  const notIgnored = callers.filter((one) => !isIgnored(one));
  const users = notIgnored.filter((one) => isUsing(one, since));
  const failing = notIgnored.filter((one) => !isUsing(one, since));
  const adjustedUsers = users.map(withAtLeastOneRequest);
  const routes = version ? (await queries.routes(name, sinceHour)).filter(({ last }) => last >= since) : [];
  const totals = (await sources.queries.requests(sinceHour)).filter(
    (one) => one.version === name || snapshot.versions.has(one.version),
  );
  const versionReport = report.versions.find((one) => one.name === name);
  // For the new clients and the trend, which reach back further than the quiet period.
  const historyCoveredSince = await sources.queries.coveredSince();
  const dates = datesOf(version, route);
  return {
    version: name,
    route,
    withoutRoute: route ? await requestsWithoutRoute(sources.queries, name, since) : 0,
    now,
    stage: version ? stageOf(version, now) : 'removed',
    ...dates,
    quiet,
    since,
    // A share would not protect clients: nearly every route has only a small share of all requests, even if clients need it.
    maxShare: route ? 0 : snapshot.retire.maxShare,
    retention: snapshot.usage.retention,
    coveredSince: await sources.queries.coveredSince(quiet),
    allRequests: allRequestsOf(totals, users, adjustedUsers),
    clients: adjustedUsers.filter(isSingleClient),
    others: adjustedUsers.find((one) => !isSingleClient(one)),
    failing,
    lostService:
      adjustedUsers.length > 0
        ? []
        : await clientsThatLostService(version ?? { name }, failing, routes, queries, quiet, isIgnored),
    refused: notIgnored.filter((one) => one.refused > 0).sort((a, b) => b.refused - a.refused),
    ...(await pastClients(name, queries, retire, since, quiet, now)),
    ignored: callers.filter(isIgnored).map(withAtLeastOneRequest),
    newClients: await newClientsOf(name, dates.deprecation, queries, historyCoveredSince, isIgnored, now),
    trend: await trendWithoutIgnored(retire.ignoreClients, name, queries, historyCoveredSince, now),
    lostRoutes: version
      ? await routesWithClients(routesLost(version, snapshot, routes, now), version, queries, sinceHour)
      : [],
    failingRoutes: version ? await routesWithClients(routes.filter(onlyFails), version, queries, sinceHour) : [],
    // Open requests are not known by route. But every process has just added them to the ledger, as requests to their routes.
    inFlight: route ? 0 : (versionReport?.inFlight ?? 0) + (fleet?.inFlight ?? 0),
    waiting: route ? 0 : (versionReport?.waiting ?? 0) + (fleet?.waiting ?? 0),
    unresponsiveSince: report.workers.find((one) => one.unresponsiveSince !== undefined)?.unresponsiveSince,
    waivers: route ? [] : (version?.waivers.filter(({ until }) => now < until) ?? []),
    fleet,
    adaptedFrom: version?.adapter?.mode === 'serve' ? version.adapter.from : undefined,
    successor: version && successorFacts(successorOf(version, snapshot, now), report),
  };
}

/** A route may end before its version. */
function datesOf(
  version: Version | undefined,
  route: LedgerRoute | undefined,
): Pick<RetirementFacts, 'deprecation' | 'sunset'> {
  const end = version && route && RouteEnds.of(version)?.find(route.method, route.path);
  if (end) return { deprecation: end.deprecatedAt, sunset: end.sunsetAt };
  return { deprecation: version?.deprecation, sunset: version?.sunset };
}

// A client that is silent for more than this many of its usual pauses is probably gone.
const overduePauses = 2;

async function pastClients(
  version: string,
  queries: RouteQueries,
  { ignoreClients, rhythm }: Snapshot['retire'],
  since: number,
  quiet: number,
  now: number,
) {
  const isIgnored = ignoredBy(ignoreClients);
  // The ledger has only the days of calls, so shorter pauses are not known.
  const shortestPause = rhythm === 'on' && quiet >= dayMs ? quiet : undefined;
  const past = (await queries.pastClients(version, since, now, shortestPause)).filter((one) => !isIgnored(one));
  const isExpected = ({ last, usualPause = 0 }: PastClient): boolean => now - last <= overduePauses * usualPause;
  return { infrequent: past.filter(isExpected), gone: past.filter((one) => !isExpected(one)) };
}

/** Undefined before the deprecation, or if the ledger begins after it. */
async function newClientsOf(
  version: string,
  deprecation: number | undefined,
  queries: RouteQueries,
  coveredSince: number | undefined,
  isIgnored: IsIgnored,
  now: number,
): Promise<ClientCounts[] | undefined> {
  if (deprecation === undefined || deprecation > now || coveredSince === undefined || coveredSince > deprecation)
    return undefined;
  const clients = await queries.newClients(version, deprecation);
  return clients.filter((one) => !isIgnored(one) && isSingleClient(one));
}

async function trendWithoutIgnored(
  ignoreClients: readonly string[],
  version: string,
  queries: RouteQueries,
  coveredSince: number | undefined,
  now: number,
): Promise<Trend> {
  const since = Math.floor(now / dayMs) * dayMs - 30 * dayMs;
  const ignored = ignoreClients.length === 0 ? [] : await queries.byClient(version, since, ignoredBy(ignoreClients));
  const ignoredClients = ignored.map(({ client }) => client);
  const ignoredDays = await queries.clientSeries(version, ignoredClients, since);
  const allDays = await queries.series('day', since, version);
  // Negative numbers subtract the requests of the ignored clients.
  const countedDays = [
    ...allDays.map(({ at, requests, failing }): Day => ({ at, requests: requests - failing })),
    ...ignoredDays.map(({ at, requests, failing }): Day => ({ at, requests: failing - requests })),
  ];
  return trendOf(completeDays(countedDays, coveredSince, now), now);
}

/**
 * A broken backend may answer 4xx, as if every client had made a mistake. The signs of a broken backend are that no client
 * uses the version any more, and that clients that used it until then now fail on routes that worked.
 */
async function clientsThatLostService(
  { name: version, contract }: Pick<Version, 'name'> & Partial<Version>,
  failing: readonly ClientUse[],
  routes: readonly CountedRoute[],
  queries: RouteQueries,
  quiet: number,
  isIgnored: IsIgnored,
): Promise<ClientUse[]> {
  const formerUsers = failing.filter((one) => one.lastUsed !== undefined);
  if (formerUsers.length === 0) return [];
  const nameOf = ({ route }: CountedRoute): string => currentNameOf(route, contract?.paths);
  const routesWithFailures = new Set(routes.filter(({ failing }) => failing > 0).map(nameOf));
  const hasRouteThatWorked = (await queries.routes(version, 0)).some(
    (one) => routesWithFailures.has(nameOf(one)) && !onlyFails(one),
  );
  const versionLastUsed = (await queries.lastUsed(isIgnored)).get(version) ?? 0;
  return hasRouteThatWorked ? formerUsers.filter(({ lastUsed = 0 }) => lastUsed >= versionLastUsed - quiet) : [];
}

function successorFacts(successor: Version | undefined, report: ServingReport): SuccessorFacts | undefined {
  if (successor === undefined) return undefined;
  const targets = report.versions.find(({ name }) => name === successor.name)?.targets ?? [];
  const healthy = targets.filter(({ health, reachable }) => health === 'healthy' && reachable !== false);
  return { version: successor.name, targets: targets.length, healthy: healthy.length };
}
