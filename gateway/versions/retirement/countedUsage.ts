import { apiOf } from '../../config/api.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { onlyFails } from '../../usage/counting/countedExchange.ts';
import { currentNameOf } from '../../usage/counting/routeNames.ts';
import { keyOfRoute, type MissingRoute, type RouteAnswersReport } from '../../usage/evidence/missingRoutes.ts';
import type { ClientUse, RouteUse, UsageQueries } from '../../usage/usageQueries.ts';
import { counterpart, isCounterpartKnown, nextVersion, stageOf, successorOf } from '../lifecycle/stage.ts';

/** The clients whose requests count in the quiet period. */
export interface CountedClients {
  /** The clients that used the version and are not ignored; most requests first. */
  readonly clients: readonly ClientUse[];
  /** The sum of the clients above `usage.max_clients`. It may include requests of some of `clients`. */
  readonly others: ClientUse | undefined;
  /** Requests to all known versions of the API, without failed ones. */
  readonly allRequests: number;
}

/** Requests that did not fail. */
export function requestsOf(uses: readonly Pick<ClientUse, 'requests' | 'failing'>[]): number {
  return uses.reduce((sum, { requests, failing }) => sum + requests - failing, 0);
}

/**
 * Requests to all versions of the API in the period. `users`: the clients that used the version. `adjustedUsers`: the same clients, after
 * `withAtLeastOneRequest`.
 */
export function allRequestsOf(
  totals: readonly Pick<ClientUse, 'requests' | 'failing'>[],
  users: readonly ClientUse[],
  adjustedUsers: readonly ClientUse[],
): number {
  // The totals do not contain the requests that `withAtLeastOneRequest` adds.
  const requests = requestsOf(totals) + requestsOf(adjustedUsers) - requestsOf(users);
  // After eight days, the counts of clients are kept per day only. Those of `users` then include the whole first day of the period,
  // and can be more than `totals`.
  return Math.max(requests, requestsOf(adjustedUsers));
}

export function refusedOf(clients: readonly ClientUse[]): number {
  return clients.reduce((sum, { refused }) => sum + refused, 0);
}

/** The clients whose requests count, including the sum of those above the limit. */
export function countedUses({ clients, others }: Pick<CountedClients, 'clients' | 'others'>): readonly ClientUse[] {
  return others === undefined ? clients : [...clients, others];
}

/** The version's share of all requests, 0 to 1; 0 if there are none. */
export function shareOf(counted: CountedClients): number {
  return counted.allRequests === 0 ? 0 : requestsOf(countedUses(counted)) / counted.allRequests;
}

/** The clients whose calls do not keep a version from being retired: those of `retire.ignore_clients` and of its waivers. */
export function ignoredOrWaived(snapshot: Pick<Snapshot, 'apis' | 'versions'>, version: string, now: number): string[] {
  const waivers = snapshot.versions.get(version)?.waivers.filter(({ until }) => now < until) ?? [];
  return [...apiOf(version, snapshot).retire.ignoreClients, ...waivers.flatMap(({ clients }) => clients)];
}

export type IsIgnored = (client: Pick<ClientUse, 'client' | 'name'>) => boolean;

/**
 * Returns a function that tells whether `names` contains a client. The list may contain a client's name in the ledger
 * (`user-agent:kube-probe`), that name without its kind (`kube-probe`), or its name in `usage.names`.
 */
export function ignoredBy(names: readonly string[]): IsIgnored {
  const listed = new Set(names);
  return ({ client, name }) =>
    listed.has(client) || listed.has(client.slice(client.indexOf(':') + 1)) || (name !== undefined && listed.has(name));
}

/** Returns a function that tells whether the API of a version ignores a client: `retire.ignore_clients`. */
export function ignoredInApi(
  host: Pick<Snapshot, 'apis'>,
): (use: Pick<ClientUse, 'client' | 'name'> & { readonly version: string }) => boolean {
  const isIgnoredIn = new Map([...host.apis.values()].map((api) => [api, ignoredBy(api.retire.ignoreClients)]));
  return (use) => isIgnoredIn.get(apiOf(use.version, host))?.(use) === true;
}

/** The clients that called a version since some instant. */
export interface Callers {
  /** They are not ignored. */
  readonly knocking: readonly ClientUse[];
  /** Those of `knocking` that used the version. */
  readonly users: readonly ClientUse[];
  /** Those of `knocking` whose requests all failed. */
  readonly failing: readonly ClientUse[];
  readonly ignored: readonly ClientUse[];
}

/**
 * `since`: epoch ms. `ignoreClients`: the clients whose calls do not count. `mayBeOpen`: a request of the version may have been open when
 * the requests were counted.
 */
export async function callersOf(
  version: string,
  queries: Pick<UsageQueries, 'byClient' | 'beginOfClientCounts'>,
  since: number,
  ignoreClients: readonly string[],
  { mayBeOpen }: { readonly mayBeOpen: boolean } = { mayBeOpen: false },
): Promise<Callers> {
  const isIgnored = ignoredBy(ignoreClients);
  // Counts are per hour, and the exact time of the last request tells whether a client called within the period.
  const callers = (await queries.byClient(version, since)).filter(({ last }) => last >= since);
  const knocking = callers.filter((one) => !isIgnored(one));
  const countsBegin = callers.length === 0 ? since : await queries.beginOfClientCounts(since);
  const isUsing = (one: ClientUse): boolean => isUser(one, since, mayBeOpen ? Number.POSITIVE_INFINITY : countsBegin);
  return {
    knocking,
    users: knocking.filter(isUsing),
    failing: knocking.filter((one) => !isUsing(one)),
    ignored: callers.filter(isIgnored),
  };
}

/**
 * The clients whose calls keep a version. A retired version answers 410 to all requests, so every client that still calls needs its
 * tombstone.
 */
export function countedCallers({ knocking, users }: Callers, isRetired: boolean): readonly ClientUse[] {
  return isRetired ? knocking : users;
}

/** The last call that keeps a version, epoch ms. Undefined: there is none. */
export function lastCountedCall(callers: Callers, isRetired: boolean): number | undefined {
  const counted = countedCallers(callers, isRetired);
  return counted.reduce<number | undefined>((latest, { last }) => Math.max(latest ?? 0, last), undefined);
}

/**
 * A request without a recorded outcome counts as use: it is still open, or the gateway crashed. The counts begin at `countsBegin`,
 * up to a day before the period. If the client used the version in between, that use is in the counts, and looks like such a request.
 */
function isUser({ lastUsed = 0, requests, failing, refused }: ClientUse, since: number, countsBegin: number): boolean {
  const hasNoOutcome = requests > failing + refused && lastUsed < countsBegin;
  return lastUsed >= since || hasNoOutcome || (failing === 0 && refused === 0);
}

/**
 * A request is counted in the hour in which it began. A client whose only use, such as a stream, began before the period has no request
 * in it, or only requests that failed. Such a client gets one request more: without it, nothing would be lost if it were cut off.
 * `since`: the start of the period, epoch ms.
 */
export function withAtLeastOneRequest<
  Use extends Pick<ClientUse, 'requests' | 'served' | 'failing'> & Partial<Pick<ClientUse, 'lastUsed'>>,
>(use: Use, since: number): Use {
  const { requests, served, failing, lastUsed = 0 } = use;
  const hasOnlyEarlierUse = requests === 0 || (requests === failing && lastUsed >= since);
  return hasOnlyEarlierUse ? { ...use, requests: requests + 1, served: served + 1 } : use;
}

export interface RouteWithClients extends RouteUse {
  /** Whether the version's contract has this path; undefined: there is no contract, or the route has no path. */
  readonly inContract: boolean | undefined;
}

/** Without the number of clients, which takes long to count. `routesWithClients` adds it. */
export type CountedRoute = Omit<RouteUse, 'clients'>;

/** What is known about the counterparts of used routes in the successor. A route that is in no list has a counterpart. */
export interface RouteCounterparts {
  /** The successor does not have them, by `moved` or by both contracts. */
  readonly lost: readonly CountedRoute[];
  /** No contract and no `moved` has their counterpart, and the backend of the successor answered 404, 405 or 410. */
  readonly missing: readonly (CountedRoute & { readonly observed: MissingRoute })[];
  /** No contract and no `moved` has their counterpart. */
  readonly notKnown: readonly CountedRoute[];
}

/** Without a successor, all lists are empty. Routes whose requests all failed are left out. */
export function counterpartsOf(
  version: Version,
  snapshot: Snapshot,
  routes: readonly CountedRoute[],
  { missing: observedRoutes = [] }: Partial<RouteAnswersReport>,
  now: number,
): RouteCounterparts {
  const [lost, missing, notKnown]: [CountedRoute[], RouteCounterparts['missing'][number][], CountedRoute[]] = [
    [],
    [],
    [],
  ];
  const successor = successorOf(version, snapshot, now);
  const observedByKey = new Map(observedRoutes.map((one) => [keyOfRoute(one), one]));
  for (const one of routes) {
    const path = pathOf(one);
    // Routes above the limit are counted together and have no path.
    if (successor === undefined || !path.startsWith('/') || onlyFails(one)) continue;
    const pathThere = pathInSuccessor(path, version, snapshot, now);
    if (pathThere === undefined) {
      lost.push(one);
    } else if (!isCounterpartKnown(path, version, successor, snapshot)) {
      const route = currentNameOf(`${methodOf(one)} ${pathThere}`, successor.contract?.paths);
      const observed = observedByKey.get(keyOfRoute({ version: successor.name, route }));
      if (observed) missing.push({ ...one, observed });
      else notKnown.push(one);
    }
  }
  return { lost, missing, notKnown };
}

/** The status with which the successor of `version` was seen to lack the counterpart of a route; undefined: it was not. */
export function missingStatusOf(
  route: string,
  version: Version | undefined,
  snapshot: Snapshot,
  routeAnswers: Partial<RouteAnswersReport>,
  now: number,
): number | undefined {
  if (version === undefined || !routeAnswers.missing?.length) return undefined;
  const used = { route, requests: 1, errors: 0, failing: 0, last: now };
  return counterpartsOf(version, snapshot, [used], routeAnswers, now).missing[0]?.observed.status;
}

/** The routes with their clients, and whether the contract of the version has them. */
export async function routesWithClients(
  routes: readonly CountedRoute[],
  { name, contract }: Version,
  queries: Pick<UsageQueries, 'byRoute'>,
  since: number,
): Promise<RouteWithClients[]> {
  const listed = new Set(routes.map(({ route }) => route));
  const uses = listed.size === 0 ? [] : await queries.byRoute(name, since);
  const isInContract = (path: string): boolean | undefined =>
    contract === undefined || !path.startsWith('/') ? undefined : contract.paths.find(path) !== undefined;
  return uses
    .filter(({ route }) => listed.has(route))
    .map((use) => ({ ...use, inContract: isInContract(pathOf(use)) }));
}

/** The path of `GET /drinks/{id}`. For `other` the result is not a path. */
function pathOf({ route }: CountedRoute): string {
  return route.slice(route.indexOf(' ') + 1);
}

function methodOf({ route }: CountedRoute): string {
  return route.slice(0, route.indexOf(' '));
}

/**
 * The path in the successor, which may change at each version in between. Undefined: `moved` or the contracts say that there is none.
 * A path template matches as a whole: `{id}` matches any parameter, but no literal.
 */
function pathInSuccessor(path: string, version: Version, snapshot: Snapshot, now: number): string | undefined {
  const next = nextVersion(version, snapshot);
  const pathInNext = next && counterpart(path, version, next);
  if (next === undefined || pathInNext === undefined) return undefined;
  return stageOf(next, now) === 'retired' ? pathInSuccessor(pathInNext, next, snapshot, now) : pathInNext;
}
