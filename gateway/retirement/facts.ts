import type { Snapshot, Version } from '../config/snapshot.ts';
import { counterpart, nextVersion, type Stage, stageOf, successorOf } from '../lifecycle/stage.ts';
import type { ServingReport } from '../observability/report.ts';
import { onlyFails } from '../usage/counting/countedExchange.ts';
import { completeDays, type Day, type Trend, trendOf } from '../usage/report/trend.ts';
import type { ClientCounts, ClientUse, PastClient, RouteUse, UsageQueries } from '../usage/usageQueries.ts';
import { isSingleClient } from '../usage/usageRow.ts';
import {
  type CountedClients,
  type IsIgnored,
  ignoredBy,
  isUsing,
  requestsOf,
  withOpenRequest,
} from './countedClients.ts';

/** Everything that the verdict about one version depends on. Instants in epoch ms, durations in ms. */
export interface RetirementFacts extends CountedClients {
  /** The path segment: `v1`. */
  readonly version: string;
  readonly now: number;
  /** `removed`: routes.yaml does not list it any more, and its clients get 404. */
  readonly stage: Stage | 'removed';
  readonly deprecation: number | undefined;
  readonly sunset: number | undefined;
  /** The required length of the quiet period, in which no client uses the version. */
  readonly quiet: number;
  /** The start of the quiet period. It is the start of an hour, because the ledger counts by hours. */
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
   * Clients of `failing` that probably fail because the backend is broken: they used the version until shortly before its
   * last use by any client, and routes that worked now fail. Empty if any client uses the version.
   */
  readonly lostService: readonly ClientUse[];
  /** Clients that were answered 410, or 404 if the version is removed; most refused requests first. */
  readonly refused: readonly ClientUse[];
  /** Clients that did not call in the quiet period, but usually pause that long and are not overdue; the latest first. */
  readonly infrequent: readonly PastClient[];
  /** The other clients that used the version before the quiet period and not since; the latest first. */
  readonly gone: readonly PastClient[];
  /** The clients of `retire.ignore_clients` that sent requests. */
  readonly ignored: readonly ClientUse[];
  /** Clients first seen after the deprecation; undefined before it, or if the ledger does not go back that far. */
  readonly newClients: readonly ClientCounts[] | undefined;
  readonly trend: Trend;
  /** Used routes that the successor does not have. */
  readonly lostRoutes: readonly RouteInContract[];
  /** Routes on which every request failed. */
  readonly failingRoutes: readonly RouteInContract[];
  /** In the whole fleet. */
  readonly inFlight: number;
  readonly waiting: number;
  readonly successor: SuccessorFacts | undefined;
  /** Undefined: this gateway is on its own. */
  readonly fleet: FleetFacts | undefined;
}

/** What the verdict needs to know of the fleet. */
export interface FleetFacts {
  /** The number of gateways that were heard, with this one. */
  readonly heard: number;
  /** In the other gateways that were heard. */
  readonly inFlight: number;
  readonly waiting: number;
  /** Why calls of the quiet period may be missing in the ledger. */
  readonly gaps: readonly Remark[];
  /** Why calls that ended before the question may be missing in the ledger, but only for some seconds. */
  readonly unsent: readonly Remark[];
  readonly notes: readonly Remark[];
}

/** A reason or a note of the verdict. */
export interface Remark {
  readonly code: string;
  /** One or two sentences, safe to print. */
  readonly text: string;
}

export interface RouteInContract extends RouteUse {
  /** Whether the version's contract has this path; undefined: there is no contract. */
  readonly inContract: boolean | undefined;
}

/** The number of clients is read only for routes that the facts list. */
type CountedRoute = Omit<RouteUse, 'clients'>;

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

/** What is known of a version that routes.yaml does not list any more. */
export type RemovedVersion = Pick<Version, 'name'>;

/** `quiet` in ms. */
export async function gatherFacts(
  version: Version | RemovedVersion,
  sources: FactSources,
  quiet: number,
  now: number,
): Promise<RetirementFacts> {
  const facts = await factsWithoutProblem(version, sources, quiet, now);
  // Read last: a query that failed returned no rows, as if no client had called.
  return { ...facts, problem: sources.queries.problem };
}

async function factsWithoutProblem(
  { name }: RemovedVersion,
  sources: FactSources,
  quiet: number,
  now: number,
): Promise<Omit<RetirementFacts, 'problem'>> {
  const { snapshot, queries, report, fleet } = sources;
  const version = snapshot.versions.get(name);
  // Counts are per hour, so a period below an hour selects clients by the exact time of their last request.
  const hour = Math.floor((now - quiet) / hourMs) * hourMs;
  const since = quiet < hourMs ? now - quiet : hour;
  const isIgnored = ignoredBy(snapshot.retire.ignoreClients);
  const recent = (await queries.byClient(name, hour)).filter(({ last }) => last >= since);
  const notIgnored = recent.filter((one) => !isIgnored(one));
  const using = notIgnored.filter((one) => isUsing(one, since));
  const failing = notIgnored.filter((one) => !isUsing(one, since));
  const uses = using.map(withOpenRequest);
  const routes = version ? (await queries.routes(name, hour)).filter(({ last }) => last >= since) : [];
  const known = (await queries.requests(hour)).filter(
    (one) => one.version === name || snapshot.versions.has(one.version),
  );
  const own = report.versions.find((one) => one.name === name);
  return {
    version: name,
    now,
    stage: version ? stageOf(version, now) : 'removed',
    deprecation: version?.deprecation,
    sunset: version?.sunset,
    quiet,
    since,
    maxShare: snapshot.retire.maxShare,
    retention: snapshot.usage.retention,
    coveredSince: await queries.coveredSince(quiet),
    // The totals do not contain the requests that `withOpenRequest` adds.
    allRequests: requestsOf(known) + requestsOf(uses) - requestsOf(using),
    clients: uses.filter(isSingleClient),
    others: uses.find((one) => !isSingleClient(one)),
    failing,
    lostService: uses.length > 0 ? [] : await lostService(name, failing, routes, queries, quiet, isIgnored),
    refused: notIgnored.filter((one) => one.refused > 0).sort((a, b) => b.refused - a.refused),
    ...(await pastClients(name, sources, since, quiet, now)),
    ignored: recent.filter(isIgnored).map(withOpenRequest),
    newClients: version && (await newClientsOf(version, queries, isIgnored, now)),
    trend: await trendWithout(snapshot.retire.ignoreClients, name, queries, now),
    lostRoutes: version ? await inContract(routesLost(version, snapshot, routes, now), version, queries, hour) : [],
    failingRoutes: version ? await inContract(routes.filter(onlyFails), version, queries, hour) : [],
    inFlight: (own?.inFlight ?? 0) + (fleet?.inFlight ?? 0),
    waiting: (own?.waiting ?? 0) + (fleet?.waiting ?? 0),
    fleet,
    successor: version && successorFacts(successorOf(version, snapshot, now), report),
  };
}

// A client that is silent for more than this many of its usual pauses is probably gone.
const overduePauses = 2;

async function pastClients(
  version: string,
  { snapshot, queries }: FactSources,
  since: number,
  quiet: number,
  now: number,
) {
  const isIgnored = ignoredBy(snapshot.retire.ignoreClients);
  // Pauses are computed from days.
  const shortestPause = snapshot.retire.rhythm === 'on' && quiet >= dayMs ? quiet : undefined;
  const past = (await queries.pastClients(version, since, now, shortestPause)).filter((one) => !isIgnored(one));
  const isExpected = ({ last, usualPause = 0 }: PastClient): boolean => now - last <= overduePauses * usualPause;
  return { infrequent: past.filter(isExpected), gone: past.filter((one) => !isExpected(one)) };
}

/** Undefined before the deprecation, or if the ledger begins after it. */
async function newClientsOf(
  { name, deprecation }: Version,
  queries: UsageQueries,
  isIgnored: IsIgnored,
  now: number,
): Promise<ClientCounts[] | undefined> {
  const covered = await queries.coveredSince();
  if (deprecation === undefined || deprecation > now || covered === undefined || covered > deprecation)
    return undefined;
  const clients = await queries.newClients(name, deprecation);
  return clients.filter((one) => !isIgnored(one) && isSingleClient(one));
}

/** The trend without ignored clients. */
async function trendWithout(
  names: readonly string[],
  version: string,
  queries: UsageQueries,
  now: number,
): Promise<Trend> {
  const since = Math.floor(now / dayMs) * dayMs - 30 * dayMs;
  const ignored = names.length === 0 ? [] : await queries.byClient(version, since, ignoredBy(names));
  const ignoredClients = ignored.map(({ client }) => client);
  const ignoredDays = await queries.clientSeries(version, ignoredClients, since);
  const days = await queries.series('day', since, version);
  const counts = [
    ...days.map(({ at, requests, failing }): Day => ({ at, requests: requests - failing })),
    ...ignoredDays.map(({ at, requests, failing }): Day => ({ at, requests: failing - requests })),
  ];
  return trendOf(completeDays(counts, await queries.coveredSince(), now), now);
}

/**
 * A broken backend may answer 4xx, as if every client had made a mistake. The signs of a broken backend are that no client
 * uses the version any more, and that clients that used it until then now fail on routes that worked.
 */
async function lostService(
  version: string,
  failing: readonly ClientUse[],
  routes: readonly CountedRoute[],
  queries: UsageQueries,
  quiet: number,
  isIgnored: IsIgnored,
): Promise<ClientUse[]> {
  const usedBefore = failing.filter((one) => one.used !== undefined);
  if (usedBefore.length === 0) return [];
  const broken = new Set(routes.filter(({ failing }) => failing > 0).map(({ route }) => route));
  const worked = (await queries.routes(version, 0)).some((one) => broken.has(one.route) && !onlyFails(one));
  const last = (await queries.lastUsed(isIgnored)).get(version) ?? 0;
  return worked ? usedBefore.filter(({ used = 0 }) => used >= last - quiet) : [];
}

function routesLost(
  version: Version,
  snapshot: Snapshot,
  routes: readonly CountedRoute[],
  now: number,
): readonly CountedRoute[] {
  if (successorOf(version, snapshot, now) === undefined) return [];
  return routes.filter((one) => {
    const path = pathOf(one);
    // Routes above the limit are counted together and have no path.
    return path.startsWith('/') && !onlyFails(one) && !hasCounterpart(path, version, snapshot, now);
  });
}

async function inContract(
  routes: readonly CountedRoute[],
  { name, contract }: Version,
  queries: UsageQueries,
  since: number,
): Promise<RouteInContract[]> {
  const listed = new Set(routes.map(({ route }) => route));
  const uses = listed.size === 0 ? [] : await queries.byRoute(name, since);
  const isKnown = (path: string): boolean | undefined =>
    contract === undefined || !path.startsWith('/') ? undefined : contract.paths.find(path) !== undefined;
  return uses.filter(({ route }) => listed.has(route)).map((use) => ({ ...use, inContract: isKnown(pathOf(use)) }));
}

/** The path of `GET /drinks/{id}`; not a path for `other`. */
function pathOf({ route }: CountedRoute): string {
  return route.slice(route.indexOf(' ') + 1);
}

/** Follows retired successors. A path template matches as a whole: `{id}` matches any parameter, but no literal. */
function hasCounterpart(path: string, version: Version, snapshot: Snapshot, now: number): boolean {
  const next = nextVersion(version, snapshot);
  const target = next && counterpart(path, version, next);
  if (next === undefined || target === undefined) return false;
  return stageOf(next, now) !== 'retired' || hasCounterpart(target, next, snapshot, now);
}

function successorFacts(successor: Version | undefined, report: ServingReport): SuccessorFacts | undefined {
  if (successor === undefined) return undefined;
  const targets = report.versions.find(({ name }) => name === successor.name)?.targets ?? [];
  const healthy = targets.filter(({ health, reachable }) => health === 'healthy' && reachable !== false);
  return { version: successor.name, targets: targets.length, healthy: healthy.length };
}
