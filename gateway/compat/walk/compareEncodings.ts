import { addPart, type Comparison, type Direction, emptyComparison } from '../change.ts';
import { below, entriesOf, type Located } from '../document/located.ts';
import { isEqual } from '../schema/canonical.ts';
import type { View } from '../schema/view.ts';
import { areCovered } from './contentTypes.ts';
import { type Encoding, encodingOf, hasParts } from './encoding.ts';
import { found, type Sides } from './sides.ts';

/** How the parts of a body are written. `old` and `now`: media types that are called `type`. */
export function compareEncodings(
  type: string,
  old: Located,
  now: Located,
  direction: Direction,
  sides: Sides,
  into: Comparison,
): void {
  for (const keyword of ['encoding', 'prefixEncoding', 'itemEncoding']) {
    const [was, is] = [below(old, keyword), below(now, keyword)];
    if (isEqual(was.value, is.value)) continue;
    if (!hasParts(type)) found(into, { kind: 'docs', effect: 'changed' }, undefined, keyword, was, is);
    else if (keyword === 'encoding') compareProperties(type, old, now, direction, sides, into);
    else found(into, { kind: 'serialization', effect: 'changed' }, direction, keyword, was, is);
  }
}

function compareProperties(
  type: string,
  old: Located,
  now: Located,
  direction: Direction,
  sides: Sides,
  into: Comparison,
): void {
  const [was, is] = [below(old, 'encoding'), below(now, 'encoding')];
  const [before, after] = sides.schemasAt(below(old, 'schema'), below(now, 'schema'));
  for (const name of new Set([...entriesOf(was), ...entriesOf(is)].map(([key]) => key))) {
    const [field, kept] = [before.view.properties.get(name)?.schema, after.view.properties.get(name)?.schema];
    const [entry, entryNow] = [below(was, name), below(is, name)];
    // A property that came or went is told as that.
    if ((field === undefined) !== (kept === undefined) || isEqual(entry.value, entryNow.value)) continue;
    if (field === undefined && isAllDeclared(before.view) && isAllDeclared(after.view)) {
      found(into, { kind: 'docs', effect: 'changed' }, undefined, 'encoding', entry, entryNow);
      continue;
    }
    const comparison = emptyComparison();
    const encodings = [encodingOf(entry, field, type, sides.old), encodingOf(entryNow, kept, type, sides.new)] as const;
    compareEncoding(...encodings, entry, entryNow, direction, comparison);
    comparison.isDone = true;
    addPart(into, { kind: 'field', text: name }, comparison);
  }
}

/** Whether there are no fields but those with a name: what `encoding` says of others means nothing. */
function isAllDeclared({ groups, conditions, properties, additional }: View): boolean {
  const hasOthers = additional !== undefined && !additional.schema.view.isNothing;
  return groups.length === 0 && conditions.size === 0 && properties.size > 0 && !hasOthers;
}

function compareEncoding(
  old: Encoding,
  now: Encoding,
  was: Located,
  is: Located,
  direction: Direction,
  into: Comparison,
): void {
  const types = old.saysType || now.saysType ? relationOf(old, now, direction) : 'same';
  const isRestyled = (old.saysStyle || now.saysStyle) && old.writing !== now.writing;
  if (types === 'changed' || isRestyled || old.others !== now.others) {
    found(into, { kind: 'serialization', effect: 'changed' }, direction, 'encoding', was, is);
    return;
  }
  if (types !== 'same') tellLimit(types, 'contentType', was, is, direction, into);
  if (old.takesReserved !== now.takesReserved)
    tellLimit(now.takesReserved ? 'wider' : 'narrower', 'allowReserved', was, is, direction, into);
  if (into.changes.length === 0)
    found(into, { kind: 'structure', effect: 'equivalent' }, direction, 'encoding', was, is);
}

/** Who sends may be given more to choose from, and who reads less. */
function relationOf(old: Encoding, now: Encoding, direction: Direction): 'same' | 'wider' | 'narrower' | 'changed' {
  const [before, after] = [old.contentTypes, now.contentTypes];
  if (before === undefined || after === undefined) return 'changed';
  const [isKept, isOld] = [areCovered(before, after), areCovered(after, before)];
  if (isKept && isOld) return 'same';
  if (isKept && direction === 'request') return 'wider';
  return isOld && direction === 'response' ? 'narrower' : 'changed';
}

function tellLimit(
  effect: 'wider' | 'narrower',
  keyword: string,
  was: Located,
  is: Located,
  direction: Direction,
  into: Comparison,
): void {
  found(into, { kind: 'limit', effect }, direction, keyword, below(was, keyword), below(is, keyword));
}
