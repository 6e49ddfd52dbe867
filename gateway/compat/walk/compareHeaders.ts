import { addPart, type Comparison, type Direction } from '../change.ts';
import { entriesOf, isMap, type Located } from '../document/located.ts';
import { compareParameterValues } from './compareParameterValues.ts';
import { found, type Sides } from './sides.ts';

/** Header fields of a response; case is of no importance in their names. */
export function compareHeaders(old: Located, now: Located, direction: Direction, sides: Sides, into: Comparison): void {
  const [before, after] = [headers(old), headers(now)];
  for (const [key, { name, located }] of before) {
    const kept = after.get(key);
    if (kept === undefined) tell('removed', name, direction, into, located, undefined);
    else addPart(into, { kind: 'part', text: `header \`${name}\`` }, compare(located, kept.located, direction, sides));
  }
  for (const [key, { name, located }] of after) {
    if (before.has(key)) continue;
    const isDemanded = direction === 'request' && isRequired(sides.new.resolve(located));
    tell(isDemanded ? 'added_required' : 'added', name, direction, into, undefined, located);
  }
}

function compare(old: Located, now: Located, direction: Direction, sides: Sides): Comparison | undefined {
  return sides.unlessTwins(`header ${direction}`, old, now, (before, after, into) => {
    const [was, is] = [isRequired(before), isRequired(after)];
    if (was !== is) {
      const kind = direction === 'response' ? 'header' : 'presence';
      found(into, { kind, effect: is ? 'required' : 'optional' }, direction, '', before, after);
    }
    compareParameterValues(before, after, direction, sides, into);
  });
}

function tell(
  effect: 'added' | 'added_required' | 'removed',
  name: string,
  direction: Direction,
  into: Comparison,
  old: Located | undefined,
  now: Located | undefined,
): void {
  const kind = direction === 'response' ? 'header' : 'field';
  found(into, { kind, effect }, direction, name, old, now);
}

/** `Content-Type` as a header means nothing, says OpenAPI: the media types tell. */
function headers(located: Located): Map<string, { name: string; located: Located }> {
  const entries = entriesOf(located).filter(
    ([name, { value }]) => isMap(value) && name.toLowerCase() !== 'content-type',
  );
  return new Map(entries.map(([name, header]) => [name.toLowerCase(), { name, located: header }]));
}

function isRequired({ value }: Located): boolean {
  return isMap(value) && value['required'] === true;
}
