import type { AnswerSettings } from '../../config/answerSettings.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { onlyFails } from '../../usage/counting/countedExchange.ts';
import {
  areLower,
  type ExceededLimit,
  exceededLimits,
  type RequestSizes,
  sizeParts,
} from '../../usage/evidence/requestSizes.ts';
import type { UsageQueries } from '../../usage/usageQueries.ts';
import { ignoredInApi, withAtLeastOneRequest } from '../retirement/countedUsage.ts';
import { adaptedNames, bodyLimits, type RouteAnswer, routeAnswers } from './adaptedRoutes.ts';
import { sizeAnswers } from './plan.ts';

// What the gateway itself would answer to recent requests that a backend answers now, apart from the refusals of whole versions and of
// clients, for which `plannedAnswer` is asked.

/** The two configurations that are compared. */
export interface Configurations {
  readonly candidate: Snapshot;
  /** The configuration that is applied now; undefined: unknown. */
  readonly running: Snapshot | undefined;
  /** The settings that the ledger has recorded. Used without `running`. */
  readonly recorded?: AnswerSettings | undefined;
}

/** Recent requests to a route that the candidate refuses for their size: with 413, 414 or 431. */
export interface TooLarge extends ExceededLimit {
  /** The path segment: `v1`. */
  readonly version: string;
  /** The name in the ledger. */
  readonly route: string;
  /** The key of the limit in routes.yaml. */
  readonly setting: string;
}

/** A route in use that an adapter of the candidate refuses with 410, or may refuse: the ledger does not tell its paths apart. */
export interface RouteWithoutAdapter {
  readonly version: string;
  readonly route: string;
  readonly requests: number;
  readonly isKnown: boolean;
}

/** Per version, what of its recent requests the candidate refuses. */
export interface OwnRefusals {
  readonly tooLarge: readonly TooLarge[];
  readonly notAdapted: readonly RouteWithoutAdapter[];
  /** From when on the ledger has the sizes of all requests, epoch ms. */
  readonly sizesSince: number;
}

/** What an edit refuses of the requests of a period up to now. */
export interface RecentRefusals extends OwnRefusals {
  /** The length of the period of each version, ms. */
  readonly periods: ReadonlyMap<string, number>;
  /** Version → its requests, if the edit changes `gateway.base_path`: then they were sent to other paths. Otherwise empty. */
  readonly atOldPaths: ReadonlyMap<string, number>;
}

/** The versions of which the candidate may refuse some requests by a limit, or by an adapter, that are answered now. */
export function changedVersions({ candidate, running, recorded }: Configurations): string[] {
  return candidate.sortedVersions
    .filter((version) => {
      const current = running?.versions.get(version.name);
      const isSame =
        running !== undefined && current !== undefined && keyOf(version, candidate) === keyOf(current, running);
      if (isSame) return false;
      if (version.adapter?.mode === 'serve' && (current === undefined || !servesSameRoutes(version, current)))
        return true;
      return mayBeTooLarge(version, { candidate, running, recorded });
    })
    .map(({ name }) => name);
}

/** What the candidate refuses of the requests to these versions. `sinceOf`: a version → since when, epoch ms. The first day counts as a whole. */
export async function ownRefusals(
  queries: Pick<UsageQueries, 'routes' | 'sizes' | 'sizesSince'>,
  configurations: Configurations,
  sinceOf: (version: string) => number,
  versions: readonly string[],
): Promise<OwnRefusals> {
  const tooLarge: TooLarge[] = [];
  const notAdapted: RouteWithoutAdapter[] = [];
  for (const name of versions) {
    tooLarge.push(...(await tooLargeRequests(queries, configurations, sinceOf(name), name)));
    notAdapted.push(...(await routesWithoutAdapter(queries, configurations, sinceOf(name), name)));
  }
  // The certain ones first, and the largest of each kind.
  tooLarge.sort(
    (a, b) => Number(b.isKnown) - Number(a.isKnown) || partOrder(a) - partOrder(b) || b.largest - a.largest,
  );
  return { tooLarge, notAdapted, sizesSince: await queries.sizesSince() };
}

/** For the reload guard. `now`: epoch ms. */
export async function recentRefusals(
  queries: Pick<UsageQueries, 'routes' | 'sizes' | 'sizesSince' | 'byVersionAndClient'>,
  configurations: Required<Pick<Configurations, 'candidate' | 'running'>>,
  {
    versions,
    periods,
    now,
  }: { readonly versions: readonly string[]; readonly periods: ReadonlyMap<string, number>; readonly now: number },
): Promise<RecentRefusals> {
  // Without a period of its own, a version gets the longest: a shorter one would hide requests.
  const longest = Math.max(0, ...periods.values());
  const sinceOf = (version: string) => now - (periods.get(version) ?? longest);
  const refusals = await ownRefusals(queries, configurations, sinceOf, versions);
  const atOldPaths = new Map<string, number>();
  for (const period of new Set(periods.values()))
    for (const [version, requests] of await requestsAtOldPaths(queries, configurations, now - period))
      if (periods.get(version) === period) atOldPaths.set(version, requests);
  return { ...refusals, periods, atOldPaths };
}

/** Whether the candidate answers 404 at all paths at which the versions are served now. */
export function movesPaths({ candidate, running }: Configurations): boolean {
  return running !== undefined && running.gateway.basePath !== candidate.gateway.basePath;
}

/** As `can-retire` counts: without ignored clients, and without clients whose requests all failed. */
async function requestsAtOldPaths(
  queries: Pick<UsageQueries, 'byVersionAndClient'>,
  configurations: Configurations,
  since: number,
): Promise<ReadonlyMap<string, number>> {
  const requests = new Map<string, number>();
  if (!movesPaths(configurations)) return requests;
  const isIgnored = ignoredInApi(configurations.running ?? configurations.candidate);
  for (const one of await queries.byVersionAndClient(since, () => false)) {
    const use = withAtLeastOneRequest(one, since);
    if (isIgnored(use) || onlyFails(use)) continue;
    requests.set(use.version, (requests.get(use.version) ?? 0) + use.served);
  }
  return requests;
}

async function tooLargeRequests(
  queries: Pick<UsageQueries, 'sizes'>,
  configurations: Configurations,
  since: number,
  name: string,
): Promise<TooLarge[]> {
  const version = configurations.candidate.versions.get(name);
  if (version === undefined || !mayBeTooLarge(version, configurations)) return [];
  const [limitsOf, currentLimitsOf] = [
    limitsIn(configurations.candidate, version),
    currentLimitsIn(configurations, name),
  ];
  const byRoute = Map.groupBy(await queries.sizes(name, since), ({ route }) => route);
  return [...byRoute].flatMap(([route, days]) =>
    exceededLimits(days, limitsOf(route), currentLimitsOf?.(route)).map((one) => {
      return { version: name, route, setting: settingOf(one, version), ...one };
    }),
  );
}

function settingOf({ part, limit }: ExceededLimit, { limits }: Version): string {
  return part === 'body' && limit < limits.body ? 'adapter.body' : sizeAnswers[part].setting;
}

function partOrder({ part }: TooLarge): number {
  return sizeParts.indexOf(part);
}

async function routesWithoutAdapter(
  queries: Pick<UsageQueries, 'routes'>,
  { candidate, running }: Configurations,
  since: number,
  name: string,
): Promise<RouteWithoutAdapter[]> {
  const [version, current] = [candidate.versions.get(name), running?.versions.get(name)];
  const answerOf = version && routeAnswers(version);
  if (version === undefined || answerOf === undefined) return [];
  const currentAnswerOf = current && routeAnswers(current);
  const haveSameRoutes = current !== undefined && servesSameRoutes(version, current);
  const isRefusedNow = (route: string, answer: RouteAnswer): boolean =>
    currentAnswerOf?.(route) === 'not_adapted' || (answer === 'unknown' && haveSameRoutes);
  return (await queries.routes(name, since)).flatMap((use) => {
    const { route, requests } = use;
    const answer = answerOf(route);
    if (answer === 'served' || onlyFails(use) || isRefusedNow(route, answer)) return [];
    return [{ version: name, route, requests, isKnown: answer === 'not_adapted' }];
  });
}

/** Whether any size is refused that is accepted now. */
function mayBeTooLarge(version: Version, configurations: Configurations): boolean {
  const { candidate, running } = configurations;
  // The running configuration does not answer the version.
  if (running !== undefined && !running.versions.has(version.name)) return false;
  const [limitsOf, currentLimitsOf] = [limitsIn(candidate, version), currentLimitsIn(configurations, version.name)];
  // The routes of an adapter may have a smaller limit than all others, for which '' stands.
  const adapted = version.adapter?.mode === 'serve' ? version.adapter.routes : [];
  const names = ['', ...adapted.map(({ method, path }) => `${method} ${path}`)];
  return names.some((name) => areLower(limitsOf(name), currentLimitsOf?.(name)));
}

/** The limits of each route of a version, by the name of the route in the ledger. */
function limitsIn({ gateway: { limits } }: Snapshot, version: Version): (route: string) => RequestSizes {
  const bodyLimit = bodyLimits(version);
  return (route) => ({ body: bodyLimit(route), target: limits.url, head: limits.head });
}

/** Undefined: not known. */
function currentLimitsIn(
  { running, recorded }: Configurations,
  name: string,
): ((route: string) => RequestSizes) | undefined {
  const version = running?.versions.get(name);
  if (running !== undefined && version !== undefined) return limitsIn(running, version);
  if (recorded === undefined) return undefined;
  const body = recorded.bodies[name] ?? Number.POSITIVE_INFINITY;
  return () => ({ body, target: recorded.url, head: recorded.head });
}

function servesSameRoutes(version: Version, current: Version): boolean {
  return current.adapter?.mode === 'serve' && adaptedNames(version) === adaptedNames(current);
}

/** What the limits and the adapter of a version are, as text to compare. */
function keyOf({ limits, adapter, contract }: Version, { gateway }: Snapshot): string {
  const serving = adapter?.mode === 'serve' ? [adapter.body, adapter.routes, contract?.paths.entries()] : null;
  return JSON.stringify([limits.body, gateway.limits, serving]);
}
