import { contentKey, mappingOf, targetNameOf } from '../../../contract/schema/choices.ts';
import type { Alternative, Choice } from '../../../contract/schema/schema.ts';
import type { SchemaPair } from './schemaPair.ts';

/** The alternatives of two choices: the pairs that correspond (`kept`), and all others. */
export interface AlternativePairs {
  readonly kept: readonly (readonly [old: Alternative, now: Alternative])[];
  readonly removed: readonly Alternative[];
  readonly added: readonly Alternative[];
}

// If there are more possible pairs, alternatives are paired by their field names only.
const maxPairs = 400;

/** Pairs the choices of two schemas. Several choices (of an `allOf`) are paired by the number of alternatives in common. */
export function pairChoices(old: readonly Choice[], now: readonly Choice[]): [Choice, Choice][] {
  if (old.length !== now.length) return [];
  if (old.length === 1 && old[0] && now[0]) return [[old[0], now[0]]];
  const unpaired = [...now];
  return old.map((choice) => {
    const keys = new Set(choice.alternatives.map(contentKey));
    const sharedCounts = unpaired.map(
      ({ alternatives }) => alternatives.filter((one) => keys.has(contentKey(one))).length,
    );
    const [best = choice] = unpaired.splice(sharedCounts.indexOf(Math.max(...sharedCounts)), 1);
    return [choice, best];
  });
}

/**
 * Pairs alternatives by `$ref`, then by the value of the discriminator, by content, by title, and the rest so that the
 * fewest breaking changes result.
 */
export function pairAlternatives(
  old: readonly Alternative[],
  now: readonly Alternative[],
  pair: SchemaPair,
): AlternativePairs {
  let pairs: AlternativePairs = { kept: [], removed: old, added: now };
  pairs = pairBy(({ ref }) => ref, pairs);
  const discriminatorValues = sharedValues(pairs, pair);
  for (const keyOf of [
    (one: Alternative) => discriminatorValues.get(one),
    contentKey,
    ({ title }: Alternative) => title,
  ]) {
    pairs = pairBy(keyOf, pairs);
  }
  return pairs.removed.length * pairs.added.length > maxPairs ? pairBy(fieldNames, pairs) : pairNearest(pairs, pair);
}

function pairBy(keyOf: (one: Alternative) => string | undefined, pairs: AlternativePairs): AlternativePairs {
  const unpairedByKey = new Map<string, Alternative[]>();
  for (const one of pairs.added) {
    const key = keyOf(one);
    if (key === undefined) continue;
    const sameKey = unpairedByKey.get(key);
    if (sameKey) sameKey.push(one);
    else unpairedByKey.set(key, [one]);
  }
  const newPairs = new Map<Alternative, Alternative>();
  for (const one of pairs.removed) {
    const key = keyOf(one);
    const match = key === undefined ? undefined : unpairedByKey.get(key)?.shift();
    if (match) newPairs.set(one, match);
  }
  return withPairs(pairs, newPairs);
}

/** `newPairs`: old alternative → new alternative. */
function withPairs(
  { kept, removed, added }: AlternativePairs,
  newPairs: ReadonlyMap<Alternative, Alternative>,
): AlternativePairs {
  const pairedNew = new Set(newPairs.values());
  return {
    kept: [...kept, ...newPairs],
    removed: removed.filter((one) => !newPairs.has(one)),
    added: added.filter((one) => !pairedNew.has(one)),
  };
}

/** Unpaired alternative, old or new → a discriminator value that both mappings contain and that selects this alternative. */
function sharedValues({ removed, added }: AlternativePairs, pair: SchemaPair): ReadonlyMap<Alternative, string> {
  const shared = new Map<Alternative, string>();
  if (removed.length === 0 || added.length === 0) return shared;
  const [oldByName, newByName] = [byName(removed), byName(added)];
  const [oldMapping, newMapping] = [mappingOf(pair.old), mappingOf(pair.new)];
  for (const [value, target] of oldMapping) {
    const before = oldByName.get(targetNameOf(target.value));
    const after = newByName.get(targetNameOf(newMapping.get(value)?.value));
    if (!before || !after || shared.has(before) || shared.has(after) || !mayCorrespond(before, after)) continue;
    shared.set(before, value).set(after, value);
  }
  return shared;
}

function byName(alternatives: readonly Alternative[]): Map<string, Alternative> {
  return new Map(alternatives.flatMap((one) => (one.ref === undefined ? [] : [[targetNameOf(one.ref), one] as const])));
}

function fieldNames({ schema }: Alternative): string | undefined {
  const names = [...schema.view.properties.keys()];
  return names.length === 0 ? undefined : names.sort().join(' ');
}

function pairNearest(pairs: AlternativePairs, pair: SchemaPair): AlternativePairs {
  const candidates = pairs.removed.flatMap((old) =>
    pairs.added
      .filter((now) => mayCorrespond(old, now))
      .map((now) => ({ old, now, breakingCount: pair.countBreakingBetween(old.schema, now.schema) })),
  );
  const newPairs = new Map<Alternative, Alternative>();
  const pairedNew = new Set<Alternative>();
  for (const { old, now } of candidates.sort((a, b) => a.breakingCount - b.breakingCount)) {
    if (newPairs.has(old) || pairedNew.has(now)) continue;
    newPairs.set(old, now);
    pairedNew.add(now);
  }
  return withPairs(pairs, newPairs);
}

/** Whether both have no fields, or a field in common. */
function mayCorrespond(old: Alternative, now: Alternative): boolean {
  const [before, after] = [old.schema.view.properties, now.schema.view.properties];
  if (before.size === 0 && after.size === 0) return true;
  return [...before.keys()].some((name) => after.has(name));
}
