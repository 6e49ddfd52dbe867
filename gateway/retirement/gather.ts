import type { Snapshot, Version } from '../config/snapshot.ts';
import { stageOf } from '../lifecycle/stage.ts';
import { counterpart, nextOf, successorOf } from '../lifecycle/successor.ts';
import type { ServingReport } from '../observability/report.ts';
import { isTold } from '../usage/callers.ts';
import type { ClientUse, RouteUse, UsageQueries } from '../usage/queries.ts';
import { type RetirementFacts, requestsOf, type SuccessorFacts } from './facts.ts';
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
  const listed = queries.byClient(name, hour).filter(({ last }) => last >= since);
  const used = listed.map(asCalling);
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
    coveredSince: queries.coveredSince(),
    allRequests: requestsOf(known) + requestsOf(used) - requestsOf(listed),
    clients: used.filter((one) => !isIgnored(one) && isTold(one)),
    others: used.find((one) => !isIgnored(one) && !isTold(one)),
    ignored: used.filter(isIgnored),
    newClients: version && newClientsOf(version, queries, now)?.filter((one) => !isIgnored(one) && isTold(one)),
    trend: trendWithout(snapshot.retire.ignoreClients, name, queries, now),
    lost: version ? routesLost(version, snapshot, queries.byRoute(name, hour), now) : [],
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

/** Undefined where nothing is deprecated yet, or where the ledger does not know who was there before. */
function newClientsOf({ name, deprecation }: Version, queries: UsageQueries, now: number) {
  const covered = queries.coveredSince();
  if (deprecation === undefined || deprecation > now || covered === undefined || covered > deprecation)
    return undefined;
  return queries.byClient(name, 0).filter(({ first }) => first >= deprecation);
}

function trendWithout(names: readonly string[], version: string, queries: UsageQueries, now: number): Trend {
  const since = Math.floor(now / dayMs) * dayMs - 30 * dayMs;
  const ignored = names.length === 0 ? [] : queries.byClient(version, since).filter(ignores(names));
  const taken = ignored.flatMap(({ client }) => queries.clientSeries(version, client, since));
  const less = taken.map(({ at, requests }): Day => ({ at, requests: -requests }));
  const days = completeDays([...queries.series('day', since, version), ...less], queries.coveredSince(), now);
  return trendOf(days, now);
}

function routesLost(version: Version, snapshot: Snapshot, routes: readonly RouteUse[], now: number): RouteUse[] {
  if (successorOf(version, snapshot, now) === undefined) return [];
  return routes.filter(({ route }) => {
    const path = route.slice(route.indexOf(' ') + 1);
    // What is counted together has no path, so nobody knows.
    return path.startsWith('/') && !arrives(path, version, snapshot, now);
  });
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
