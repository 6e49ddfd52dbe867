import { type Comparison, emptyComparison } from '../change.ts';
import { compareDocs } from '../compareDocs.ts';
import type { Documents } from '../document/documents.ts';
import { IdenticalSubtrees, type SubtreeEquality } from '../document/identicalSubtrees.ts';
import { below, type Located } from '../document/located.ts';
import { withinTheStack } from '../failure.ts';
import { isEqual } from '../schema/canonical.ts';
import { compareOperations } from './compareOperations.ts';
import { pairRoutes } from './pairRoutes.ts';
import { type Route, routesOf } from './routes.ts';
import { found, Sides } from './sides.ts';

/** What became of a route. */
export interface RouteComparison {
  /** As the new contract has it, or the old one if it is gone. */
  readonly route: Route;
  /** As the old contract had it; undefined where it is new. */
  readonly was: Route | undefined;
  readonly comparison: Comparison;
}

/** What the versions are called in URLs, and which paths the later one renamed; null: it has nothing in their place. */
export interface Versions {
  readonly old?: string;
  readonly new?: string;
  readonly moved?: (path: string) => string | null;
}

export interface ContractComparison {
  /** What belongs to no route. */
  readonly document: Comparison;
  readonly routes: readonly RouteComparison[];
}

/**
 * Holds a contract against its past, or against another major. `versions`: what they are called in URLs, where that is
 * known; `twins`: what is not looked at. @throws CompareError for a `$ref` that leads nowhere, and for too deep a nesting
 */
export function compareContracts(
  old: Documents,
  now: Documents,
  versions: Versions = {},
  twins: SubtreeEquality = new IdenticalSubtrees(old, now),
): ContractComparison {
  return withinTheStack(now.root.place.file.name, () => compareAll(new Sides(old, now, twins), versions));
}

function compareAll(sides: Sides, versions: Versions): ContractComparison {
  const { old, new: now } = sides;
  const [before, after] = [routesOf(old, versions.old), routesOf(now, versions.new)];
  const pairs = pairRoutes(
    { documents: old, routes: [...before.values()], version: versions.old },
    { documents: now, routes: [...after.values()], version: versions.new },
    ({ kind, path }) => (kind === 'route' && versions.moved ? (versions.moved(path) ?? '') : path),
  );
  const routes = pairs.map(({ old: was, now: kept, moved }): RouteComparison => {
    if (!kept) return { route: was, was, comparison: alone('removed', was.operation, undefined) };
    const comparison = compareOperations(was, kept, sides);
    if (moved) {
      const { bases, from, to } = moved;
      found(comparison, { kind: 'base_path', effect: 'changed' }, undefined, bases, from.at, to.at);
    }
    return { route: kept, was, comparison };
  });
  const arrived = new Set(pairs.map(({ now: kept }) => kept));
  for (const route of after.values()) {
    if (arrived.has(route)) continue;
    routes.push({ route, was: undefined, comparison: alone('added', undefined, route.operation) });
  }
  return { document: compareHeads(old.root, now.root), routes };
}

function alone(effect: 'added' | 'removed', old: Located | undefined, now: Located | undefined): Comparison {
  const comparison = emptyComparison();
  found(comparison, { kind: 'route', effect }, undefined, '', old, now);
  return comparison;
}

/** `info`, `tags`, `servers`: what tells about the API. Base paths are told of with the routes that they lead to. */
function compareHeads(old: Located, now: Located): Comparison {
  const comparison = emptyComparison();
  compareDocs(old, now, comparison);
  for (const key of ['info', 'servers', 'jsonSchemaDialect']) {
    const [before, after] = [below(old, key), below(now, key)];
    if (!isEqual(before.value, after.value)) {
      found(comparison, { kind: 'docs', effect: 'changed' }, undefined, key, before, after);
    }
  }
  return comparison;
}
