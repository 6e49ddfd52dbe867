import { below, entriesOf, type Located } from '../contract/place.ts';
import type { Pair } from './pair.ts';
import type { Schema } from './schema.ts';
import type { View } from './view.ts';

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
  compareFallback(pair, below(was, 'defaultMapping'), below(is, 'defaultMapping'));
  compareMappings(pair, was, is);
  if (old.groups.length + now.groups.length === 0) compareHeirs(pair, was, is);
}

/** What a value without the property is read as. */
function compareFallback(pair: Pair, old: Located, now: Located): void {
  const [was, is] = [old.value, now.value];
  if (was === undefined && is === undefined) return;
  if (was === undefined || is === undefined) {
    pair.found('limit', is === undefined ? 'narrower' : 'wider', 'defaultMapping', old, now);
  } else if (nameOf(was) !== nameOf(is)) {
    pair.found('structure', 'changed', 'defaultMapping', old, now);
  }
}

function compareMappings(pair: Pair, was: Located, is: Located): void {
  const [were, are] = [mapping(pair.old), mapping(pair.new)];
  const [before, after] = [targets(pair.oldSchema, were), targets(pair.newSchema, are)];
  for (const [value, target] of were) {
    const kept = are.get(value);
    if (kept && nameOf(kept.value) !== nameOf(target.value))
      pair.found('structure', 'changed', `mapping of \`${value}\``, target, kept);
    // Where the alternative itself went, that has been said; its own name stands for it without being listed.
    else if (!kept && value !== nameOf(target.value) && after.has(nameOf(target.value)))
      pair.found('value', 'removed', `\`${value}\``, target, is);
  }
  for (const [value, target] of are) {
    const isListed = were.has(value) || value === nameOf(target.value);
    if (!isListed && before.has(nameOf(target.value))) pair.found('value', 'added', `\`${value}\``, was, target);
  }
}

/** Without a choice, what a schema comes down to is what adds to it by `allOf`, or is in its mapping. */
function compareHeirs(pair: Pair, was: Located, is: Located): void {
  const [were, are] = [mapping(pair.old), mapping(pair.new)];
  const [old, now] = [targets(pair.oldSchema, were), targets(pair.newSchema, are)];
  const values = new Map([...were].map(([value, target]) => [nameOf(target.value), value]));
  for (const [name, target] of old) {
    const kept = now.get(name);
    if (!kept) {
      pair.found('alternative', 'removed', name, target, is);
      continue;
    }
    const [before, after] = [pair.oldSchema.named(target), pair.newSchema.named(kept)];
    if (before && after) pair.part({ kind: 'part', text: values.get(name) ?? name }, before, after);
  }
  for (const [name, target] of now) if (!old.has(name)) pair.found('alternative', 'added', name, was, target);
}

/** The schemas that the discriminator chooses from, by their names. */
function targets(schema: Schema, mapped: ReadonlyMap<string, Located>): Map<string, Located> {
  const { groups } = schema.view;
  if (groups.length === 0) {
    const named = (schema.isHeir ? [] : [...mapped.values()]).map((target) => [nameOf(target.value), target] as const);
    return new Map([...schema.heirs, ...named]);
  }
  const alternatives = groups.flatMap((group) => group.alternatives);
  return new Map(alternatives.flatMap(({ ref, at }) => (ref === undefined ? [] : [[nameOf(ref), at] as const])));
}

function mapping(view: View): Map<string, Located> {
  const discriminator = view.at('discriminator');
  return new Map(discriminator ? entriesOf(below(discriminator, 'mapping')) : []);
}

/** `#/components/schemas/Cat` and `Cat` mean the same. */
function nameOf(target: unknown): string {
  return String(target).replace(/^.*\//s, '');
}
