import { segmentOf } from '../../../config/api.ts';
import type { Documents } from '../../../contract/document/documents.ts';
import { below, type Located } from '../../../contract/document/located.ts';
import { catchingStackOverflow } from '../../../contract/failure.ts';
import {
  changedBasePaths,
  type Route,
  routesOf,
  type Servers,
  serversOf,
  withoutNames,
} from '../../../contract/routes.ts';
import {
  addChange,
  type Comparison,
  compareAsDescription,
  compareDescriptions,
  emptyComparison,
  type SeverityOf,
} from './change.ts';
import { ContractPair } from './contractPair.ts';
import { IdenticalSubtrees, type SubtreeEquality } from './identicalSubtrees.ts';
import { compareOperations } from './operations.ts';

/** The changes of one route. */
export interface RouteComparison {
  /** In the new contract, or in the old one if it was removed. */
  readonly route: Route;
  /** The same route in the old contract; undefined: the route is new. */
  readonly oldRoute: Route | undefined;
  readonly comparison: Comparison;
}

/** The names of both versions in URLs (`v1`), and the new path of each old path (null: removed without a successor). */
export interface Versions {
  readonly old?: string;
  readonly new?: string;
  readonly moved?: (path: string) => string | null;
}

export interface ContractComparison {
  /** Changes that belong to no route. */
  readonly document: Comparison;
  readonly routes: readonly RouteComparison[];
}

/**
 * Finds all changes between two contracts. In this folder and the others of `compat/`, the new side of a comparison is called
 * `now`, because `new` is a reserved word.
 * @param severityOf rates changes. The alternatives of a `oneOf` or `anyOf` are paired so that the fewest changes are breaking
 * @param identical finds the parts of the contracts that need no comparison
 * @throws CompareError for a `$ref` without a target, and for schemas nested too deeply
 */
export function compareContracts(
  old: Documents,
  now: Documents,
  severityOf: SeverityOf,
  versions: Versions = {},
  identical: SubtreeEquality = new IdenticalSubtrees(old, now),
): ContractComparison {
  return catchingStackOverflow(now.root.place.file.name, () =>
    compareAll(new ContractPair(old, now, identical, severityOf), versions),
  );
}

function compareAll(contracts: ContractPair, versions: Versions): ContractComparison {
  const { old, new: now } = contracts;
  const [oldSegment, newSegment] = [versions.old, versions.new].map((version) => version && segmentOf(version));
  const [before, after] = [routesOf(old, oldSegment), routesOf(now, newSegment)];
  const pairs = pairRoutes(
    { documents: old, routes: [...before.values()], segment: oldSegment },
    { documents: now, routes: [...after.values()], segment: newSegment },
    // Only paths are moved, and not the names of webhooks and callbacks.
    ({ kind, path }) => (kind === 'route' && versions.moved ? (versions.moved(path) ?? '') : path),
  );
  const routes = pairs.map(({ old: oldRoute, now: kept, basePathChange }): RouteComparison => {
    if (!kept) return { route: oldRoute, oldRoute, comparison: routeChange('removed', oldRoute.operation, undefined) };
    const comparison = compareOperations(oldRoute, kept, contracts);
    if (basePathChange) {
      const { from, to, paths } = basePathChange;
      const detail = { is: 'base paths', old: paths.old, new: paths.new } as const;
      addChange(comparison, { kind: 'base_path', effect: 'changed', detail, old: from.serverList, new: to.serverList });
    }
    return { route: kept, oldRoute, comparison };
  });
  const keptRoutes = new Set(pairs.map((pair) => pair.now));
  for (const route of after.values()) {
    if (keptRoutes.has(route)) continue;
    routes.push({ route, oldRoute: undefined, comparison: routeChange('added', undefined, route.operation) });
  }
  return { document: compareApiDocs(old.root, now.root), routes };
}

/** The comparison of a route that only one contract has. */
function routeChange(effect: 'added' | 'removed', old: Located | undefined, now: Located | undefined): Comparison {
  const comparison = emptyComparison();
  addChange(comparison, { kind: 'route', effect, old, new: now });
  return comparison;
}

/** Compares descriptions of the whole API. Changes of base paths belong to the routes. */
function compareApiDocs(old: Located, now: Located): Comparison {
  const comparison = emptyComparison();
  compareDescriptions(old, now, comparison);
  for (const key of ['info', 'servers', 'jsonSchemaDialect']) {
    compareAsDescription(key, below(old, key), below(now, key), comparison);
  }
  return comparison;
}

interface ContractRoutes {
  readonly documents: Documents;
  readonly routes: readonly Route[];
  /** Of the version; undefined: unknown. */
  readonly segment: string | undefined;
}

interface RoutePair {
  readonly old: Route;
  /** Undefined: removed. */
  readonly now: Route | undefined;
  /** Set if the base path changed and the path does not compensate for it. */
  readonly basePathChange: { readonly from: Servers; readonly to: Servers; readonly paths: BasePathLists } | undefined;
}

type BasePathLists = NonNullable<ReturnType<typeof changedBasePaths>>;
type PathsOf = (route: Route) => readonly string[];

/**
 * Pairs the routes of two contracts, in four rounds: by path and base path; by full path, if a part of the path moved into
 * or out of the base path; by path alone; by path with other names of path parameters.
 * @param newPathOf the path of an old route in the new contract; empty: the route was removed without a successor
 */
function pairRoutes(old: ContractRoutes, now: ContractRoutes, newPathOf: (route: Route) => string): RoutePair[] {
  const pairByOldRoute = new Map<Route, RoutePair>();
  const unpaired = new Set(now.routes);
  const byNewPath: [PathsOf, PathsOf] = [(route) => [newPathOf(route)], ({ path }) => [path]];
  const rounds: [pathsOfOld: PathsOf, pathsOfNew: PathsOf, allowsOtherBasePath: boolean][] = [
    [...byNewPath, false],
    [(route) => fullPaths({ ...route, path: newPathOf(route) }, old), (route) => fullPaths(route, now), true],
    [...byNewPath, true],
    [(route) => [withoutNames(newPathOf(route))], ({ path }) => [withoutNames(path)], true],
  ];
  for (const [pathsOfOld, pathsOfNew, allowsOtherBasePath] of rounds) {
    const newRouteByKey = new Map<string, Route>();
    for (const route of unpaired) {
      for (const key of keysOf(route, pathsOfNew)) if (!newRouteByKey.has(key)) newRouteByKey.set(key, route);
    }
    for (const route of old.routes) {
      if (pairByOldRoute.has(route)) continue;
      const kept = keysOf(route, pathsOfOld)
        .map((key) => newRouteByKey.get(key))
        .find((one) => one !== undefined && unpaired.has(one));
      if (!kept) continue;
      const basePathChange = basePathChangeBetween(route, newPathOf(route), kept, old, now);
      if (basePathChange && !allowsOtherBasePath) continue;
      unpaired.delete(kept);
      pairByOldRoute.set(route, { old: route, now: kept, basePathChange });
    }
  }
  return old.routes.map(
    (route) => pairByOldRoute.get(route) ?? { old: route, now: undefined, basePathChange: undefined },
  );
}

function keysOf(route: Route, pathsOf: PathsOf): string[] {
  const paths = route.kind === 'route' ? pathsOf(route) : [route.path];
  return paths.map((path) => `${route.kind} ${route.method} ${path}`);
}

/** The path with the base path of each server. None for a path that was removed without a successor. */
function fullPaths(route: Route, { documents, segment }: ContractRoutes): string[] {
  if (route.path === '') return [];
  const { addresses } = serversOf(route, documents, segment);
  return [...new Set(addresses.map(({ path }) => withoutNames(`${path}${route.path}`)))];
}

function basePathChangeBetween(
  oldRoute: Route,
  newPath: string,
  newRoute: Route,
  oldRoutes: ContractRoutes,
  newRoutes: ContractRoutes,
): RoutePair['basePathChange'] {
  if (oldRoute.kind !== 'route') return undefined;
  // Here the paths differ because a part of the base path is now in the path, or the other way round.
  if (withoutNames(newPath) !== withoutNames(newRoute.path)) return undefined;
  const from = serversOf(oldRoute, oldRoutes.documents, oldRoutes.segment);
  const to = serversOf(newRoute, newRoutes.documents, newRoutes.segment);
  const paths = changedBasePaths(from, to);
  return paths && { from, to, paths };
}
