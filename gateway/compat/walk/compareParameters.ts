import { addPart, type Comparison } from '../change.ts';
import type { Documents } from '../document/documents.ts';
import { below, isMap, itemsOf, type Located } from '../document/located.ts';
import { compareParameterValues } from './compareParameterValues.ts';
import { parameterNames, type Route } from './routes.ts';
import { directions, type Flow, found, type Sides } from './sides.ts';

interface Parameter {
  /** "query parameter `limit`". */
  readonly words: string;
  readonly located: Located;
  readonly isRequired: boolean;
}

/** What clients put into paths, queries, headers and cookies. */
export function compareParameters(old: Route, now: Route, flow: Flow, sides: Sides, into: Comparison): void {
  const [before, after] = [parametersOf(old, sides.old), parametersOf(now, sides.new)];
  for (const [key, { words, located }] of before) {
    const kept = after.get(key);
    if (kept) addPart(into, { kind: 'part', text: kept.words }, compare(located, kept.located, flow, sides));
    else if (!key.startsWith('path ')) tell('removed', words, flow, into, located, undefined);
  }
  for (const [key, { words, located, isRequired }] of after) {
    // A parameter of a path that was there before is only described now.
    if (before.has(key) || key.startsWith('path ')) continue;
    tell(isRequired ? 'added_required' : 'added', words, flow, into, undefined, located);
  }
}

function compare(old: Located, now: Located, flow: Flow, sides: Sides): Comparison | undefined {
  return sides.unlessTwins(`parameter ${flow}`, old, now, (before, after, into) => {
    const [was, is] = [isRequired(before), isRequired(after)];
    if (was !== is) {
      const places = [placeOfRequired(before), placeOfRequired(after)] as const;
      if (flow === 'in')
        found(into, { kind: 'parameter', effect: is ? 'required' : 'optional' }, undefined, '', ...places);
      else found(into, { kind: 'presence', effect: is ? 'required' : 'optional' }, 'response', '', ...places);
    }
    compareParameterValues(before, after, directions(flow).request, sides, into);
  });
}

function tell(
  effect: 'added' | 'added_required' | 'removed',
  words: string,
  flow: Flow,
  into: Comparison,
  old: Located | undefined,
  now: Located | undefined,
): void {
  if (flow === 'in') found(into, { kind: 'parameter', effect }, undefined, words, old, now);
  else found(into, { kind: 'field', effect }, 'response', words, old, now);
}

// These header fields are described elsewhere, says OpenAPI, and a parameter of their name is ignored.
const ignored: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization']);

/** Those of the operation, and of its path where the operation has none of that name. */
function parametersOf({ path, item, operation }: Route, documents: Documents): Map<string, Parameter> {
  const names = parameterNames(path);
  const parameters = new Map<string, Parameter>();
  for (const written of [...itemsOf(below(item, 'parameters')), ...itemsOf(below(operation, 'parameters'))]) {
    const located = documents.resolve(written);
    if (!isMap(located.value)) continue;
    const place = String(located.value['in']);
    const name = String(located.value['name']);
    if (place === 'header' && ignored.has(name.toLowerCase())) continue;
    const key = place === 'path' ? String(names.indexOf(name)) : place === 'header' ? name.toLowerCase() : name;
    const words = `${place} parameter \`${name}\``;
    parameters.set(`${place} ${key}`, { words, located, isRequired: isRequired(located) });
  }
  return parameters;
}

function isRequired({ value }: Located): boolean {
  return isMap(value) && value['in'] !== 'path' && value['required'] === true;
}

function placeOfRequired(located: Located): Located {
  const required = below(located, 'required');
  return required.value === undefined ? located : required;
}
