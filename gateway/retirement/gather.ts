import type { Snapshot, Version } from '../config/snapshot.ts';
import { stageOf } from '../lifecycle/stage.ts';
import { counterpart, nextOf, successorOf } from '../lifecycle/successor.ts';
import type { ServingReport } from '../observability/report.ts';
import { isTold } from '../usage/callers.ts';
import { onlyFails } from '../usage/outcome.ts';
import type { PastClient } from '../usage/pastClients.ts';
import type { ClientUse, RouteUse, UsageQueries } from '../usage/queries.ts';
import { isUsing, type RetirementFacts, type RouteInContract, requestsOf, type SuccessorFacts } from './facts.ts';
import { ignores } from './ignored.ts';
import { completeDays, type Day, type Trend, trendOf } from './trend.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export interface Sources {
  readonly snapshot: Snapshot;
  readonly queries: UsageQueries;
  readonly report: ServingReport;
}

/** As much of a version as is known once routes.yaml lists it no more. */
export type Removed = Pick<Version, 'name'>;

/** Collects what is known of a version's use at `now`. `quiet` in ms. */
export function gather(version: Version | Removed, sources: Sources, quiet: number, now: number): RetirementFacts {
  const facts = gathered(version, sources, quiet, now);
  // Asked last: a question that the ledger could not answer looks as if nobody had called.
  return { ...facts, problem: sources.queries.problem };
}

function gathered({ name }: Removed, sources: Sources, quiet: number, now: number): Omit<RetirementFacts, 'problem'> {
  const { snapshot, queries, report } = sources;
  const version = snapshot.versions.get(name);
  // Counts are kept by the hour; who asked last when is known exactly, and a shorter period rests on that.
  const hour = Math.floor((now - quiet) / hourMs) * hourMs;
  const since = quiet < hourMs ? now - quiet : hour;
  const isIgnored = ignores(snapshot.retire.ignoreClients);
  const asked = queries.byClient(name, hour).filter(({ last }) => last >= since);
  const counting = asked.filter((one) => !isIgnored(one));
  const using = counting.filter((one) => isUsing(one, since));
  const failing = counting.filter((one) => !isUsing(one, since));
  const used = using.map(asCalling);
  const routes = version ? queries.byRoute(name, hour).filter(({ last }) => last >= since) : [];
  const known = queries.totals(hour).filter((one) => one.version === name || snapshot.versions.has(one.version));
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
    coveredSince: queries.coveredSince(quiet),
    allRequests: requestsOf(known) + requestsOf(used) - requestsOf(using),
    clients: used.filter(isTold),
    others: used.find((one) => !isTold(one)),
    failing,
    lostService: used.length > 0 ? [] : lostService(name, failing, routes, queries, quiet, isIgnored),
    refused: counting.filter((one) => one.refused > 0).sort((a, b) => b.refused - a.refused),
    ...pastClients(name, sources, since, quiet, now),
    ignored: asked.filter(isIgnored).map(asCalling),
    newClients: version && newClientsOf(version, queries, now)?.filter((one) => !isIgnored(one) && isTold(one)),
    trend: trendWithout(snapshot.retire.ignoreClients, name, queries, now),
    lost: version ? routesLost(version, snapshot, routes, now) : [],
    failingRoutes: version ? routes.filter(onlyFails).map((route) => withContract(route, version)) : [],
    inFlight: own?.inFlight ?? 0,
    waiting: own?.waiting ?? 0,
    successor: version && successorFacts(successorOf(version, snapshot, now), report),
  };
}

/**
 * A request is counted in the hour in which it began. A client that only had an earlier one open, such as a stream, made
 * none within the quiet period, and calls all the same: it counts as one.
 */
function asCalling(use: ClientUse): ClientUse {
  return use.requests > 0 ? use : { ...use, requests: 1, served: 1 };
}

// A client that stays away for longer than that is more likely gone.
const overdueAfter = 2;

function pastClients(version: string, { snapshot, queries }: Sources, since: number, quiet: number, now: number) {
  const isIgnored = ignores(snapshot.retire.ignoreClients);
  // Pauses are known by the day.
  const least = snapshot.retire.rhythm === 'on' && quiet >= dayMs ? quiet : undefined;
  const past = queries.pastClients(version, since, now, least).filter((one) => !isIgnored(one));
  const isExpected = ({ last, usualPause = 0 }: PastClient): boolean => now - last <= overdueAfter * usualPause;
  return { infrequent: past.filter(isExpected), gone: past.filter((one) => !isExpected(one)) };
}

/** Undefined where nothing is deprecated yet, or where the ledger does not know who was there before. */
function newClientsOf({ name, deprecation }: Version, queries: UsageQueries, now: number) {
  const covered = queries.coveredSince();
  if (deprecation === undefined || deprecation > now || covered === undefined || covered > deprecation)
    return undefined;
  return queries.byClient(name, 0).filter(({ first, used }) => first >= deprecation && used !== undefined);
}

function trendWithout(names: readonly string[], version: string, queries: UsageQueries, now: number): Trend {
  const since = Math.floor(now / dayMs) * dayMs - 30 * dayMs;
  const ignored = names.length === 0 ? [] : queries.byClient(version, since).filter(ignores(names));
  const taken = ignored.flatMap(({ client }) => queries.clientSeries(version, client, since));
  const all = queries
    .series('day', since, version)
    .map(({ at, requests, failing }) => [at, requests - failing] as const);
  const less = taken.map(({ at, requests, failing }) => [at, failing - requests] as const);
  const counts = [...all, ...less].map(([at, requests]): Day => ({ at, requests }));
  const days = completeDays(counts, queries.coveredSince(), now);
  return trendOf(days, now);
}

/**
 * A 4xx of a backend that is broken, or of whatever answers in its place, looks like a mistake of every client. The sign of
 * it: nobody is served any more, and clients that were served until then now fail on routes that worked.
 */
function lostService(
  version: string,
  failing: readonly ClientUse[],
  routes: readonly RouteUse[],
  queries: UsageQueries,
  quiet: number,
  isIgnored: ReturnType<typeof ignores>,
): ClientUse[] {
  const served = failing.filter((one) => one.used !== undefined);
  if (served.length === 0) return [];
  const broken = new Set(routes.filter(({ failing }) => failing > 0).map(({ route }) => route));
  const worked = queries.byRoute(version, 0).some((one) => broken.has(one.route) && !onlyFails(one));
  const last = queries.lastUsed(isIgnored).get(version) ?? 0;
  return worked ? served.filter(({ used = 0 }) => used >= last - quiet) : [];
}

function routesLost(version: Version, snapshot: Snapshot, routes: readonly RouteUse[], now: number): RouteInContract[] {
  if (successorOf(version, snapshot, now) === undefined) return [];
  const lost = routes.filter((one) => {
    const path = pathOf(one);
    // What is counted together has no path, so nobody knows.
    return path.startsWith('/') && !onlyFails(one) && !arrives(path, version, snapshot, now);
  });
  return lost.map((route) => withContract(route, version));
}

function withContract(route: RouteUse, { contract }: Version): RouteInContract {
  const path = pathOf(route);
  const isKnown = contract !== undefined && path.startsWith('/');
  return { ...route, inContract: isKnown ? contract.paths.find(path) !== undefined : undefined };
}

/** Of `GET /drinks/{id}`; not a path where routes are counted together. */
function pathOf({ route }: RouteUse): string {
  return route.slice(route.indexOf(' ') + 1);
}

/** A template stands for its paths: `{id}` fits any parameter, and no literal. */
function arrives(path: string, version: Version, snapshot: Snapshot, now: number): boolean {
  const next = nextOf(version, snapshot);
  const target = next && counterpart(path, version, next);
  if (next === undefined || target === undefined) return false;
  return stageOf(next, now) !== 'retired' || arrives(target, next, snapshot, now);
}

function successorFacts(successor: Version | undefined, report: ServingReport): SuccessorFacts | undefined {
  if (successor === undefined) return undefined;
  const targets = report.versions.find(({ name }) => name === successor.name)?.targets ?? [];
  const healthy = targets.filter(({ health, reachable }) => health === 'healthy' && reachable !== false);
  return { version: successor.name, targets: targets.length, healthy: healthy.length };
}
