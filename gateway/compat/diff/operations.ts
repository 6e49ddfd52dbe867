import type { Documents } from '../document/documents.ts';
import { below, entriesOf, isList, isMap, type Located } from '../document/located.ts';
import { canonical, substance } from '../schema/canonical.ts';
import { compareBodies } from './bodies.ts';
import type { Comparison } from './change.ts';
import { addChange, addPart, compareAsDocs, compareDocs, emptyComparison } from './comparison.ts';
import type { Caller, ContractPair } from './contractPair.ts';
import { compareParameters } from './parameters.ts';
import { compareResponses } from './responses.ts';
import { addOperations, parameterNames, type Route, routeInWords } from './routes.ts';

export function compareOperations(old: Route, now: Route, contracts: ContractPair): Comparison {
  const caller: Caller = now.kind === 'route' ? 'client' : 'api';
  const into = emptyComparison();
  const [before, after] = [old.operation, now.operation];
  compareDocs(before, after, into);
  compareDocs(old.item, now.item, into);
  // Changes of base paths are compared for the route as a whole.
  compareAsDocs('servers', below(before, 'servers'), below(after, 'servers'), into);
  compareAsDocs('servers', below(old.item, 'servers'), below(now.item, 'servers'), into);
  if (caller === 'client') compareParameterNames(old, now, into);
  compareParameters(old, now, caller, contracts, into);
  compareBodies(below(before, 'requestBody'), below(after, 'requestBody'), caller, contracts, into);
  compareResponses(below(before, 'responses'), below(after, 'responses'), caller, contracts, into);
  if (caller === 'client') addPart(into, undefined, compareSecurity(before, after, contracts));
  compareCallbacks(before, after, contracts, into);
  return into;
}

function compareParameterNames(old: Route, now: Route, into: Comparison): void {
  const [before, after] = [parameterNames(old.path), parameterNames(now.path)];
  if (before.join(', ') === after.join(', ')) return;
  const detail = { is: 'names', old: before, new: after } as const;
  addChange(into, { kind: 'path_name', effect: 'changed', detail, old: old.item, new: now.item });
}

/** Compares the security requirements of the operation, or else those of the whole API. */
function compareSecurity(old: Located, now: Located, contracts: ContractPair): Comparison | undefined {
  const [before, after] = [requirementsOf(old, contracts.old), requirementsOf(now, contracts.new)];
  if (before.value === undefined && after.value === undefined) return undefined;
  return contracts.compareOnce('security', before, after, (_old, _now, into) => {
    if (securityKey(before, contracts.old) === securityKey(after, contracts.new)) return;
    addChange(into, { kind: 'security', effect: 'changed', direction: 'request', old: before, new: after });
  });
}

function requirementsOf(operation: Located, { root }: Documents): Located {
  const own = below(operation, 'security');
  return own.value === undefined ? below(root, 'security') : own;
}

/** With the definitions of the schemes, in an order that does not depend on the contract. */
function securityKey({ value }: Located, documents: Documents): string {
  const schemes = below(below(documents.root, 'components'), 'securitySchemes');
  const requirements = isList(value) ? value.filter(isMap) : [];
  const texts = requirements.map((requirement) => {
    const names = Object.keys(requirement).sort();
    return names
      .map((name) => `${canonical(requirement[name])} ${substance(documents.resolve(below(schemes, name)).value)}`)
      .join(' and ');
  });
  return [...new Set(texts)].sort().join(' or ');
}

/** Compares the operations that the API calls in response to this one. */
function compareCallbacks(old: Located, now: Located, contracts: ContractPair, into: Comparison): void {
  const [before, after] = [callbacksOf(old, contracts.old), callbacksOf(now, contracts.new)];
  for (const [key, route] of before) {
    const kept = after.get(key);
    const comparison = kept ? compareCallback(key, route, kept, contracts) : emptyComparison();
    if (!kept) addChange(comparison, { kind: 'route', effect: 'removed', old: route.operation, new: undefined });
    addPart(into, { kind: 'part', text: routeInWords(route) }, comparison);
  }
  for (const [key, route] of after) {
    if (before.has(key)) continue;
    const comparison = emptyComparison();
    addChange(comparison, { kind: 'route', effect: 'added', old: undefined, new: route.operation });
    addPart(into, { kind: 'part', text: routeInWords(route) }, comparison);
  }
}

/** Once for each pair of operations: a callback may contain itself. */
function compareCallback(key: string, old: Route, now: Route, contracts: ContractPair): Comparison {
  return contracts.compareOnce(key, old.operation, now.operation, (_old, _now, into) => {
    addPart(into, undefined, compareOperations(old, now, contracts));
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
