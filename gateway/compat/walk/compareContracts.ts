import { type Comparison, emptyComparison } from '../change.ts';
import { compareDocs } from '../compareDocs.ts';
import type { Documents } from '../contract/documents.ts';
import { below, type Located } from '../contract/place.ts';
import { withinTheStack } from '../failure.ts';
import { isEqual } from '../schema/canonical.ts';
import { compareOperations } from './compareOperations.ts';
import { type Route, routesOf, withoutNames } from './routes.ts';
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
 * known. @throws CompareError for a `$ref` that leads nowhere, and for too deep a nesting
 */
export function compareContracts(old: Documents, now: Documents, versions: Versions = {}): ContractComparison {
  return withinTheStack(now.root.place.file.name, () => compareAll(old, now, versions));
}

function compareAll(old: Documents, now: Documents, versions: Versions): ContractComparison {
  const sides = new Sides(old, now);
  const [before, after] = [routesOf(old, versions.old), routesOf(now, versions.new)];
  const routes: RouteComparison[] = [];
  const arrived = new Set<Route>();
  for (const [key, route] of before) {
    const kept = after.get(keyNow(key, route, versions.moved));
    if (kept) arrived.add(kept);
    if (kept) routes.push({ route: kept, was: route, comparison: compareOperations(route, kept, sides) });
    else routes.push({ route, was: route, comparison: alone('removed', route.operation, undefined) });
  }
  for (const route of after.values()) {
    if (arrived.has(route)) continue;
    routes.push({ route, was: undefined, comparison: alone('added', undefined, route.operation) });
  }
  return { document: compareHeads(old.root, now.root), routes };
}

function keyNow(key: string, { kind, method, path }: Route, moved: Versions['moved']): string {
  const now = kind === 'route' && moved ? moved(path) : path;
  return now === path ? key : `${kind} ${method} ${withoutNames(now ?? '')}`;
}

function alone(effect: 'added' | 'removed', old: Located | undefined, now: Located | undefined): Comparison {
  const comparison = emptyComparison();
  found(comparison, { kind: 'route', effect }, undefined, '', old, now);
  return comparison;
}

/** `info`, `tags`, `servers`: what tells about the API, and is no part of it. */
function compareHeads(old: Located, now: Located): Comparison {
  const comparison = emptyComparison();
  compareDocs(old, now, comparison);
  for (const key of ['info', 'servers']) {
    const [before, after] = [below(old, key), below(now, key)];
    if (!isEqual(before.value, after.value)) {
      found(comparison, { kind: 'docs', effect: 'changed' }, undefined, key, before, after);
    }
  }
  return comparison;
}
