import type { Snapshot, Version } from '../config/snapshot.ts';
import { counterpart, nextVersion, stageOf, successorOf } from '../lifecycle/stage.ts';
import { onlyFails } from '../usage/counting/countedExchange.ts';
import type { ClientUse, RouteUse, UsageQueries } from '../usage/usageQueries.ts';

/** The clients whose requests count in the quiet period. */
export interface CountedClients {
  /** The clients that used the version and are not ignored; most requests first. */
  readonly clients: readonly ClientUse[];
  /** The sum of the clients above `usage.max_clients`. It may include requests of some of `clients`. */
  readonly others: ClientUse | undefined;
  /** Requests to all known versions, without failed ones. */
  readonly allRequests: number;
}

/** Requests that did not fail. */
export function requestsOf(uses: readonly Pick<ClientUse, 'requests' | 'failing'>[]): number {
  return uses.reduce((sum, { requests, failing }) => sum + requests - failing, 0);
}

/**
 * Requests to all versions in the period. `users`: the clients that used the version. `adjustedUsers`: the same clients, after
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
export function ignoredOrWaived(
  { retire, versions }: Pick<Snapshot, 'retire' | 'versions'>,
  version: string,
  now: number,
): string[] {
  const waivers = versions.get(version)?.waivers.filter(({ until }) => now < until) ?? [];
  return [...retire.ignoreClients, ...waivers.flatMap(({ clients }) => clients)];
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

/**
 * The clients that used a version after `since` (epoch ms), without ignored clients and clients whose requests all failed.
 * A retired version answers 410 to all requests, so every client that still sends requests counts.
 */
export async function clientsUsing(
  version: string,
  queries: Pick<UsageQueries, 'byClient'>,
  since: number,
  { ignored = [], isRetired = false }: { readonly ignored?: readonly string[]; readonly isRetired?: boolean } = {},
): Promise<ClientUse[]> {
  const isIgnored = ignoredBy(ignored);
  const clients = await queries.byClient(version, since);
  return clients.filter((one) => !isIgnored(one) && (isRetired ? one.last >= since : isUsing(one, since)));
}

/** A request without a recorded outcome counts as use: it is still open, or the gateway crashed. */
export function isUsing({ lastUsed = 0, failing, refused, last }: ClientUse, since: number): boolean {
  return lastUsed >= since || (failing === 0 && refused === 0 && last >= since);
}

/**
 * A request is counted in the hour in which it began. A client whose only request, such as a stream, began before the period
 * has 0 requests in the period, but still uses the version. Such a client gets one request.
 */
export function withAtLeastOneRequest<Use extends Pick<ClientUse, 'requests' | 'served'>>(use: Use): Use {
  return use.requests > 0 ? use : { ...use, requests: 1, served: 1 };
}

export interface RouteWithClients extends RouteUse {
  /** Whether the version's contract has this path; undefined: there is no contract, or the route has no path. */
  readonly inContract: boolean | undefined;
}

/** Without the number of clients, which takes long to count. `routesWithClients` adds it. */
export type CountedRoute = Omit<RouteUse, 'clients'>;

/** Used routes that the successor does not have. Without a successor, there are none. */
export function routesLost(
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

/**
 * Whether the successor has the path, which may change at each version in between. A path template matches as a whole: `{id}`
 * matches any parameter, but no literal.
 */
function hasCounterpart(path: string, version: Version, snapshot: Snapshot, now: number): boolean {
  const next = nextVersion(version, snapshot);
  const pathInNext = next && counterpart(path, version, next);
  if (next === undefined || pathInNext === undefined) return false;
  return stageOf(next, now) !== 'retired' || hasCounterpart(pathInNext, next, snapshot, now);
}
