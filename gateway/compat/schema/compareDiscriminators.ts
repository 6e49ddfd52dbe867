import { below, type Located } from '../document/located.ts';
import { mappingOf, nameOf, targetsOf, valuesOf } from './mapping.ts';
import type { Pair } from './pair.ts';
import { pairGroups, pairUp } from './pairing.ts';
import { isCompatible } from './severity.ts';

/** What the schemas that are chosen from are called now, by their old names: one that nobody sends may change. */
type Names = ReadonlyMap<string, string>;

/** How alternatives are told apart. */
export function compareDiscriminators(pair: Pair): void {
  const { old, new: now } = pair;
  const [was, is] = [old.at('discriminator'), now.at('discriminator')];
  if (!was && !is) return;
  if (!was || !is) {
    pair.found('structure', 'equivalent', 'discriminator', was, is);
    return;
  }
  const [before, after] = [below(was, 'propertyName'), below(is, 'propertyName')];
  if (before.value !== after.value) pair.found('structure', 'changed', 'discriminator', before, after);
  const hasChoice = old.groups.length + now.groups.length > 0;
  const names = hasChoice ? namesOfAlternatives(pair) : namesOfHeirs(pair);
  compareFallback(pair, below(was, 'defaultMapping'), below(is, 'defaultMapping'), names);
  compareMappings(pair, was, is, names);
  if (!hasChoice) compareHeirs(pair, was, is, names);
}

/** What a value without the property is read as. */
function compareFallback(pair: Pair, old: Located, now: Located, names: Names): void {
  const [was, is] = [old.value, now.value];
  if (was === undefined && is === undefined) return;
  if (was === undefined || is === undefined) {
    pair.found('limit', is === undefined ? 'narrower' : 'wider', 'defaultMapping', old, now);
  } else if (!leadToTheSame(pair, old, now, names)) {
    pair.found('structure', 'changed', 'defaultMapping', old, now);
  }
}

function compareMappings(pair: Pair, was: Located, is: Located, names: Names): void {
  const [were, are] = [valuesOf(pair.oldSchema), valuesOf(pair.newSchema)];
  const [before, after] = [targetsOf(pair.oldSchema), targetsOf(pair.newSchema)];
  const areHeirs = pair.oldSchema.isHeir && pair.newSchema.isHeir;
  for (const [value, target] of were) {
    // Its own name stands for a schema without being listed.
    const named = after.get(value);
    const kept = are.get(value) ?? (named && { ...named, value });
    if (areHeirs && !names.has(nameOf(target.value)) && !isOwnAndLost(pair, target, kept)) continue;
    if (kept && !leadToTheSame(pair, target, kept, names))
      pair.found('structure', 'changed', `mapping of \`${value}\``, target, kept);
    // Where the alternative itself went, that has been said.
    else if (!kept && names.has(nameOf(target.value))) pair.found('value', 'removed', `\`${value}\``, target, is);
  }
  const known = new Set(names.values());
  for (const [value, target] of are) {
    if (!were.has(value) && !before.has(value) && known.has(nameOf(target.value)))
      pair.found('value', 'added', `\`${value}\``, was, target);
  }
}

/** An heir does not choose from its siblings: where a value leads to one of them, that is told of what they add to. */
function isOwnAndLost({ oldSchema, newSchema }: Pair, old: Located, now: Located | undefined): boolean {
  return nameOf(old.value) === oldSchema.place.key && nameOf(now?.value) !== newSchema.place.key;
}

/** Whether what a value leads to is still the same schema, or another one that says what the old one said. */
function leadToTheSame(pair: Pair, old: Located, now: Located, names: Names): boolean {
  const [was, is] = [nameOf(old.value), nameOf(now.value)];
  if (was === is || names.get(was) === is) return true;
  const [before, after] = [pair.oldSchema.named(old), pair.newSchema.named(now)];
  return before !== undefined && after !== undefined && isCompatible(pair.trial(before, after));
}

function namesOfAlternatives(pair: Pair): Names {
  const kept = pairGroups(pair.old.groups, pair.new.groups).flatMap(
    ([before, after]) => pairUp(before.alternatives, after.alternatives, pair).kept,
  );
  const renamed = kept.flatMap(([{ ref: was }, { ref: is }]) =>
    was === undefined || is === undefined ? [] : [[nameOf(was), nameOf(is)] as const],
  );
  return new Map([...renamed, ...keptNames(pair)]);
}

function keptNames({ oldSchema, newSchema }: Pair): [old: string, now: string][] {
  const now = targetsOf(newSchema);
  return [...targetsOf(oldSchema).keys()].filter((name) => now.has(name)).map((name) => [name, name]);
}

/** An heir that is gone became the new one that the same value leads to. */
function namesOfHeirs(pair: Pair): Names {
  const [old, now] = [targetsOf(pair.oldSchema), targetsOf(pair.newSchema)];
  const names = new Map(keptNames(pair));
  const [were, are] = [mappingOf(pair.old), mappingOf(pair.new)];
  const taken = new Set<string>();
  for (const [value, target] of were) {
    const [was, is] = [nameOf(target.value), nameOf(are.get(value)?.value)];
    if (!old.has(was) || now.has(was) || !now.has(is) || old.has(is) || taken.has(is)) continue;
    names.set(was, is);
    taken.add(is);
  }
  return names;
}

/** Without a choice, what a schema comes down to is what adds to it by `allOf`, or is in its mapping. */
function compareHeirs(pair: Pair, was: Located, is: Located, names: Names): void {
  const [old, now] = [targetsOf(pair.oldSchema), targetsOf(pair.newSchema)];
  const values = new Map([...mappingOf(pair.old)].map(([value, target]) => [nameOf(target.value), value]));
  for (const [name, target] of old) {
    const kept = now.get(names.get(name) ?? '');
    if (!kept) {
      pair.found('alternative', 'removed', name, target, is);
      continue;
    }
    const [before, after] = [pair.oldSchema.named(target), pair.newSchema.named(kept)];
    if (before && after) pair.part({ kind: 'part', text: values.get(name) ?? name }, before, after);
  }
  const known = new Set(names.values());
  for (const [name, target] of now) if (!known.has(name)) pair.found('alternative', 'added', name, was, target);
}
