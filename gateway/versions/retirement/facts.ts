import { apiOf, type RetireSettings, totalsOfApi } from '../../config/api.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { completeDaysSince, evidenceOf } from '../../usage/callFacts.ts';
import { onlyFails } from '../../usage/counting/countedExchange.ts';
import {
  currentNameOf,
  isCountedUnlisted,
  type LedgerRoute,
  requestsWithoutRoute,
} from '../../usage/counting/routeNames.ts';
import { type CallEvidence, type LiveFacts, noLiveFacts, quietSince } from '../../usage/evidence/callEvidence.ts';
import type { MissingRoute } from '../../usage/evidence/missingRoutes.ts';
import type { Remark } from '../../usage/evidence/remark.ts';
import { type ServingReport, type TargetCounts, targetCounts } from '../../usage/observability/report.ts';
import type { Trend } from '../../usage/report/trend.ts';
import { expectedUntil } from '../../usage/rhythm.ts';
import type { ClientCounts, ClientUse, PastClient, RouteQueries, UsageQueries } from '../../usage/usageQueries.ts';
import { isSingleClient } from '../../usage/usageRow.ts';
import { RouteEnds } from '../lifecycle/announcement.ts';
import { type Stage, stageOf, successorOf } from '../lifecycle/stage.ts';
import {
  allRequestsOf,
  type CountedClients,
  type CountedRoute,
  callersOf,
  counterpartsOf,
  type IsIgnored,
  ignoredBy,
  ignoredOrWaived,
  lastCountedCall,
  type RouteCounterparts,
  type RouteWithClients,
  routesWithClients,
  withAtLeastOneRequest,
} from './countedUsage.ts';
import { requestTrend } from './requestTrend.ts';

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
  /** Whether the version was called in the quiet period, and what is missing to know it. For a retired version: whether it was refused. */
  readonly evidence: CallEvidence;
  /** `retire.max_share`: the share of all requests that may be lost, 0 to 1. */
  readonly maxShare: number;
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
  /** Every client that called and is not ignored, however it was answered; the most refused first. They need the tombstone of a retired version. */
  readonly knocking: readonly ClientUse[];
  /** Clients that did not call in the quiet period, but usually pause that long and are not overdue; the latest first. */
  readonly infrequent: readonly PastClient[];
  /** The other clients that used the version before the quiet period and not since; the latest first. */
  readonly gone: readonly PastClient[];
  /** The clients that sent requests, but do not count because of `retire.ignore_clients` or a waiver. */
  readonly ignored: readonly ClientUse[];
  /** Clients first seen after the deprecation; undefined before it, or if the ledger does not go back that far. */
  readonly newClients: readonly ClientCounts[] | undefined;
  readonly trend: Trend;
  /** Used routes that the successor does not have, by `moved` or by both contracts. */
  readonly lostRoutes: readonly RouteWithClients[];
  /** Used routes to which the successor answered 404, 405 or 410, although no contract says that it lacks them. */
  readonly missingRoutes: readonly (RouteWithClients & { readonly observed: MissingRoute })[];
  /** Used routes of which neither `moved` nor contracts say whether the successor has them, and that nobody has observed missing. */
  readonly routesNotKnown: readonly CountedRoute[];
  /** Routes on which every request failed. */
  readonly failingRoutes: readonly RouteWithClients[];
  /** Requests in flight and waiting requests, in the whole fleet. */
  readonly inFlight: number;
  readonly waiting: number;
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

export interface SuccessorFacts extends TargetCounts {
  /** The path segment: `v2`. */
  readonly version: string;
}

const hourMs = 3_600_000;
// Within this time, the counts of all processes arrive, and then their reports.
const countingMs = 10_000;
const dayMs = 24 * hourMs;

export interface FactSources {
  readonly snapshot: Snapshot;
  readonly queries: UsageQueries;
  readonly report: ServingReport;
  /** Absent: no gateway was asked. */
  readonly live?: LiveFacts | undefined;
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
  const { queries, snapshot } = sources;
  const live = liveFactsAbout(subject, sources);
  const { lastCall, ...facts } = await countedFacts(subject, sources, live, quiet, now);
  const asked = { version: subject.name, now, quiet, lastCall, retention: snapshot.usage.retention };
  const evidence = await evidenceOf(queries, asked, live);
  return { ...facts, evidence, problem: queries.problem };
}

/**
 * Open requests are not known by route. But every process has just added them to the ledger, as requests to their routes, and
 * `callersOf` counts them. Waiting requests are not in it: any of them may be to the route. Calls of a version of an API that is removed
 * are counted under no version.
 */
function liveFactsAbout({ name, route }: RetirementSubject, { live = noLiveFacts, snapshot }: FactSources): LiveFacts {
  if (!snapshot.versions.has(name) && !isCountedUnlisted(name, snapshot.apis)) {
    const text = `Calls of /${name} may be missing: while routes.yaml does not list it, they are not counted under its name.`;
    return { ...live, gaps: [...live.gaps, { code: 'calls_not_counted', text }] };
  }
  return route ? { ...live, inFlight: 0, lastRemembered: undefined } : live;
}

/** `lastCall`: the last call that counts. */
async function countedFacts(
  { name, route }: RetirementSubject,
  sources: FactSources,
  live: LiveFacts,
  quiet: number,
  now: number,
): Promise<Omit<RetirementFacts, 'problem' | 'evidence'> & { readonly lastCall: number | undefined }> {
  const { snapshot, report, fleet } = sources;
  const version = snapshot.versions.get(name);
  const queries: RouteQueries = route ? await sources.queries.ofRoutes(route.names) : sources.queries;
  // Counts are per hour, so a period below an hour selects clients by the exact time of their last request.
  const since = quietSince(now, quiet);
  const sinceHour = Math.floor(since / hourMs) * hourMs;
  // The end of a route refuses no request, so waivers do not apply to it.
  const ofApi = apiOf(name, snapshot).retire;
  const retire = route ? ofApi : { ...ofApi, ignoreClients: ignoredOrWaived(snapshot, name, now) };
  const isIgnored = ignoredBy(retire.ignoreClients);
  const { inFlight, lastRemembered = 0 } = sources.live ?? noLiveFacts;
  // Open requests of the version are in the evidence, whoever sent them. Which of them are to the route is not known.
  const mayBeOpen = route !== undefined && (inFlight > 0 || lastRemembered > now - countingMs);
  const callers = await callersOf(name, queries, since, retire.ignoreClients, { mayBeOpen });
  const { users, failing, knocking } = callers;
  const adjustedUsers = users.map((one) => withAtLeastOneRequest(one, since));
  const routes = version ? (await queries.routes(name, since)).filter(({ last }) => last >= since) : [];
  const totals = totalsOfApi(name, await sources.queries.requests(sinceHour), snapshot);
  const dates = datesOf(version, route);
  const counterparts: RouteCounterparts = version
    ? counterpartsOf(version, snapshot, routes, report.routeAnswers ?? {}, now)
    : { lost: [], missing: [], notKnown: [] };
  const stage = version ? stageOf(version, now) : 'removed';
  return {
    version: name,
    route,
    lastCall: lastCountedCall(callers, stage === 'retired'),
    withoutRoute: route ? await requestsWithoutRoute(sources.queries, name, since) : 0,
    now,
    stage,
    ...dates,
    quiet,
    // A share would not protect clients: nearly every route has only a small share of all requests, even if clients need it.
    maxShare: route ? 0 : retire.maxShare,
    allRequests: allRequestsOf(totals, users, adjustedUsers),
    clients: adjustedUsers.filter(isSingleClient),
    others: adjustedUsers.find((one) => !isSingleClient(one)),
    failing,
    lostService:
      adjustedUsers.length > 0
        ? []
        : await clientsThatLostService(version ?? { name }, failing, routes, queries, quiet, isIgnored),
    refused: knocking.filter((one) => one.refused > 0).sort((a, b) => b.refused - a.refused),
    knocking: knocking.toSorted((a, b) => b.refused - a.refused),
    ...(await pastClients(name, queries, retire, since, quiet, now)),
    ignored: callers.ignored.map((one) => withAtLeastOneRequest(one, since)),
    newClients: await newClientsOf(name, dates.deprecation, queries, sources.queries, isIgnored, now),
    trend: await requestTrend(retire.ignoreClients, name, queries, await completeDaysSince(sources.queries, name), now),
    lostRoutes: version ? await routesWithClients(counterparts.lost, version, queries, sinceHour) : [],
    missingRoutes: version ? await observedMissing(counterparts.missing, version, queries, sinceHour) : [],
    routesNotKnown: counterparts.notKnown,
    failingRoutes: version ? await routesWithClients(routes.filter(onlyFails), version, queries, sinceHour) : [],
    inFlight: live.inFlight,
    waiting: live.waiting,
    waivers: route ? [] : (version?.waivers.filter(({ until }) => now < until) ?? []),
    fleet,
    adaptedFrom: version?.adapter?.mode === 'serve' ? version.adapter.from : undefined,
    successor: version && successorFacts(successorOf(version, snapshot, now), report),
  };
}

async function observedMissing(
  missing: RouteCounterparts['missing'],
  version: Version,
  queries: RouteQueries,
  since: number,
): Promise<RetirementFacts['missingRoutes']> {
  const observed = new Map(missing.map((one) => [one.route, one.observed]));
  const routes = await routesWithClients(missing, version, queries, since);
  return routes.flatMap((one) => {
    const found = observed.get(one.route);
    return found ? [{ ...one, observed: found }] : [];
  });
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

async function pastClients(
  version: string,
  queries: RouteQueries,
  { ignoreClients, rhythm }: RetireSettings,
  since: number,
  quiet: number,
  now: number,
) {
  const isIgnored = ignoredBy(ignoreClients);
  // The ledger has only the days of calls, so shorter pauses are not known.
  const shortestPause = rhythm === 'on' && quiet >= dayMs ? quiet : undefined;
  const past = (await queries.pastClients(version, since, now, shortestPause)).filter((one) => !isIgnored(one));
  const isExpected = (one: PastClient): boolean => now <= expectedUntil(one);
  return { infrequent: past.filter(isExpected), gone: past.filter((one) => !isExpected(one)) };
}

/** Undefined before the deprecation, or if the ledger begins after it. */
async function newClientsOf(
  version: string,
  deprecation: number | undefined,
  queries: RouteQueries,
  ledger: UsageQueries,
  isIgnored: IsIgnored,
  now: number,
): Promise<ClientCounts[] | undefined> {
  if (deprecation === undefined || deprecation > now) return undefined;
  const asked = { version, now, quiet: now - deprecation, since: deprecation };
  if ((await evidenceOf(ledger, asked)).missing.length > 0) return undefined;
  const clients = await queries.newClients(version, deprecation);
  return clients.filter((one) => !isIgnored(one) && isSingleClient(one));
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
  return { version: successor.name, ...targetCounts(report, successor.name) };
}
