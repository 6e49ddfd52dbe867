import type { Snapshot, Version } from '../config/snapshot.ts';
import { counterpart, nextVersion, stageOf, successorOf } from '../lifecycle/stage.ts';
import { onlyFails } from '../usage/counting/countedExchange.ts';
import type { RouteUse, UsageQueries } from '../usage/usageQueries.ts';

export interface RouteInContract extends RouteUse {
  /** Whether the version's contract has this path; undefined: there is no contract. */
  readonly inContract: boolean | undefined;
}

/** The number of clients is read only for routes that the facts list. */
export type CountedRoute = Omit<RouteUse, 'clients'>;

/** Used routes that the successor does not have. */
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
export async function inContract(
  routes: readonly CountedRoute[],
  { name, contract }: Version,
  queries: Pick<UsageQueries, 'byRoute'>,
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
