import { addPart, type Comparison, emptyComparison } from '../change.ts';
import type { Documents } from '../document/documents.ts';
import { below, entriesOf, type Located } from '../document/located.ts';
import { addOperations, type Route, routeInWords } from './routes.ts';
import { found, type Sides } from './sides.ts';

/** What the API calls of its own accord once the operation was called: operations again, which the caller compares. */
export function compareCallbacks(
  old: Located,
  now: Located,
  sides: Sides,
  into: Comparison,
  compareOperations: (old: Route, now: Route, sides: Sides) => Comparison,
): void {
  const [before, after] = [callbacksOf(old, sides.old), callbacksOf(now, sides.new)];
  for (const [key, route] of before) {
    const kept = after.get(key);
    const comparison = kept ? compareOnce(key, route, kept, sides, compareOperations) : emptyComparison();
    if (!kept) found(comparison, { kind: 'route', effect: 'removed' }, undefined, '', route.operation, undefined);
    addPart(into, { kind: 'part', text: routeInWords(route) }, comparison);
  }
  for (const [key, route] of after) {
    if (before.has(key)) continue;
    const comparison = emptyComparison();
    found(comparison, { kind: 'route', effect: 'added' }, undefined, '', undefined, route.operation);
    addPart(into, { kind: 'part', text: routeInWords(route) }, comparison);
  }
}

/** A callback may have callbacks, and itself among them. */
function compareOnce(
  key: string,
  old: Route,
  now: Route,
  sides: Sides,
  compareOperations: (old: Route, now: Route, sides: Sides) => Comparison,
): Comparison {
  return sides.once(key, old.operation, now.operation, (_old, _now, into) => {
    addPart(into, undefined, compareOperations(old, now, sides));
  });
}

function callbacksOf(operation: Located, documents: Documents): Map<string, Route> {
  const routes = new Map<string, Route>();
  for (const [name, callback] of entriesOf(below(operation, 'callbacks'))) {
    for (const [expression, item] of entriesOf(documents.resolve(callback))) {
      addOperations('callback', `${name} ${expression}`, item, documents, routes);
    }
  }
  return routes;
}
