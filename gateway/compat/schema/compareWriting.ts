import { below, entriesOf, type Located } from '../contract/place.ts';
import { isEqual } from './canonical.ts';
import type { Pair } from './pair.ts';
import type { View } from './view.ts';

/** How a value is written beside what it is: `xml`, and the `discriminator` that tells alternatives apart. */
export function compareWriting(pair: Pair): void {
  const { old, new: now, context } = pair;
  if (context.wire === 'xml' && !isEqual(old.at('xml')?.value, now.at('xml')?.value)) {
    pair.found('structure', 'changed', 'xml', old.at('xml'), now.at('xml'));
  }
  compareDiscriminators(pair);
}

function compareDiscriminators(pair: Pair): void {
  const { old, new: now } = pair;
  const [was, is] = [old.at('discriminator'), now.at('discriminator')];
  if (!was && !is) return;
  if (!was || !is) {
    pair.found('structure', 'equivalent', 'discriminator', was, is);
    return;
  }
  const [before, after] = [below(was, 'propertyName'), below(is, 'propertyName')];
  if (before.value !== after.value) pair.found('structure', 'changed', 'discriminator', before, after);
  const [were, are] = [mapping(old), mapping(now)];
  for (const [value, target] of were) {
    const kept = are.get(value);
    // Where the alternative itself went, that has been said.
    if (kept === undefined && hasTarget(now, target.value)) pair.found('value', 'removed', `\`${value}\``, target, is);
    if (kept && nameOf(kept.value) !== nameOf(target.value))
      pair.found('structure', 'changed', `mapping of \`${value}\``, target, kept);
    else if (kept && old.groups.length + now.groups.length === 0) compareHeirs(pair, value, target, kept);
  }
  for (const [value, target] of are) {
    if (!were.has(value) && hasTarget(old, target.value)) pair.found('value', 'added', `\`${value}\``, was, target);
  }
}

/** Without a choice, the mapping alone tells which schemas add to this one by their `allOf`. */
function compareHeirs(pair: Pair, value: string, old: Located, now: Located): void {
  const [before, after] = [pair.oldSchema.named(old), pair.newSchema.named(now)];
  if (before && after) pair.part({ kind: 'part', text: value }, before, after);
}

function mapping(view: View): Map<string, Located> {
  const discriminator = view.at('discriminator');
  return new Map(discriminator ? entriesOf(below(discriminator, 'mapping')) : []);
}

function hasTarget({ groups }: View, target: unknown): boolean {
  return groups.some(({ alternatives }) =>
    alternatives.some(({ ref }) => ref !== undefined && nameOf(ref) === nameOf(target)),
  );
}

/** `#/components/schemas/Cat` and `Cat` mean the same. */
function nameOf(target: unknown): string {
  return String(target).replace(/^.*\//s, '');
}
