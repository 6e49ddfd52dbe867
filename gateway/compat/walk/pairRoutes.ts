import type { Documents } from '../document/documents.ts';
import { type Route, withoutNames } from './routes.ts';
import { movedBases, type Servers, serversOf } from './servers.ts';

/** A contract, what its routes are, and what its version is called in URLs. */
export interface RoutesOfSide {
  readonly documents: Documents;
  readonly routes: Iterable<Route>;
  readonly version: string | undefined;
}

/** What became of a route. */
export interface RoutePair {
  readonly old: Route;
  /** Undefined: it is gone. */
  readonly now: Route | undefined;
  /** Its base path went, and its path did not make up for that. */
  readonly moved: { readonly from: Servers; readonly to: Servers; readonly bases: string } | undefined;
}

type PathsOf = (route: Route) => readonly string[];

/**
 * Which route became which: the one at the same path and base path, then the one whose path moved into or out of the
 * base path of its servers, then the one at the same path below another base path, then the one whose parameters have
 * other names. `pathNow`: what the later contract calls a path.
 */
export function pairRoutes(old: RoutesOfSide, now: RoutesOfSide, pathNow: (route: Route) => string): RoutePair[] {
  const found = new Map<Route, RoutePair>();
  const waiting = new Set(now.routes);
  const samePath: [PathsOf, PathsOf] = [(route) => [pathNow(route)], ({ path }) => [path]];
  const keyings: [ofOld: PathsOf, ofNow: PathsOf, isAnyBase: boolean][] = [
    [...samePath, false],
    [(route) => addresses({ ...route, path: pathNow(route) }, old), (route) => addresses(route, now), true],
    [...samePath, true],
    [(route) => [withoutNames(pathNow(route))], ({ path }) => [withoutNames(path)], true],
  ];
  for (const [ofOld, ofNow, isAnyBase] of keyings) {
    const byKey = new Map<string, Route>();
    for (const route of waiting) {
      for (const key of keysOf(route, ofNow)) if (!byKey.has(key)) byKey.set(key, route);
    }
    for (const route of old.routes) {
      if (found.has(route)) continue;
      const kept = keysOf(route, ofOld)
        .map((key) => byKey.get(key))
        .find((one) => one !== undefined && waiting.has(one));
      if (!kept) continue;
      const moved = movedBetween(route, pathNow(route), kept, old, now);
      if (moved && !isAnyBase) continue;
      waiting.delete(kept);
      found.set(route, { old: route, now: kept, moved });
    }
  }
  return [...old.routes].map((route) => found.get(route) ?? { old: route, now: undefined, moved: undefined });
}

function keysOf(route: Route, pathsOf: PathsOf): string[] {
  const isNamed = route.kind !== 'route';
  return (isNamed ? [route.path] : pathsOf(route)).map((path) => `${route.kind} ${route.method} ${path}`);
}

/** With the base path of every server in front; none for what the later contract has nothing in place of. */
function addresses(route: Route, { documents, version }: RoutesOfSide): string[] {
  if (route.path === '') return [];
  const all = serversOf(route, documents, version).addresses;
  return [...new Set(all.map(({ path }) => withoutNames(`${path}${route.path}`)))];
}

function movedBetween(
  old: Route,
  path: string,
  now: Route,
  before: RoutesOfSide,
  after: RoutesOfSide,
): RoutePair['moved'] {
  if (old.kind !== 'route') return undefined;
  // The path took over what the base path lost.
  if (withoutNames(path) !== withoutNames(now.path)) return undefined;
  const from = serversOf(old, before.documents, before.version);
  const to = serversOf(now, after.documents, after.version);
  const bases = movedBases(from, to);
  return bases && { from, to, bases: bases.join(' → ') };
}
