import { addPart, type Comparison, emptyComparison } from '../change.ts';
import { compareDocs } from '../compareDocs.ts';
import { below } from '../document/located.ts';
import { isEqual } from '../schema/canonical.ts';
import { compareBodies } from './compareBodies.ts';
import { compareCallbacks } from './compareCallbacks.ts';
import { compareParameters } from './compareParameters.ts';
import { compareResponses } from './compareResponses.ts';
import { compareSecurity } from './compareSecurity.ts';
import { parameterNames, type Route } from './routes.ts';
import { type Flow, found, type Sides } from './sides.ts';

/** Holds an operation against what it was. */
export function compareOperations(old: Route, now: Route, sides: Sides): Comparison {
  const flow: Flow = now.kind === 'route' ? 'in' : 'out';
  const into = emptyComparison();
  compareDocs(old.operation, now.operation, into);
  compareDocs(old.item, now.item, into);
  compareServers(old, now, into);
  const names = [old, now].map(({ path }) => parameterNames(path).join(', '));
  if (names[0] !== names[1] && now.kind === 'route') {
    found(into, { kind: 'path_name', effect: 'changed' }, undefined, names.join(' → '), old.item, now.item);
  }
  compareParameters(old, now, flow, sides, into);
  compareBodies(below(old.operation, 'requestBody'), below(now.operation, 'requestBody'), flow, sides, into);
  compareResponses(below(old.operation, 'responses'), below(now.operation, 'responses'), flow, sides, into);
  if (flow === 'in') addPart(into, undefined, compareSecurity(old.operation, now.operation, sides));
  compareCallbacks(old.operation, now.operation, sides, into, compareOperations);
  return into;
}

/** That they are listed here and not for the whole API describes; base paths are compared with the routes. */
function compareServers(old: Route, now: Route, into: Comparison): void {
  for (const [before, after] of [
    [old.operation, now.operation],
    [old.item, now.item],
  ] as const) {
    const [was, is] = [below(before, 'servers'), below(after, 'servers')];
    if (!isEqual(was.value, is.value)) found(into, { kind: 'docs', effect: 'changed' }, undefined, 'servers', was, is);
  }
}
