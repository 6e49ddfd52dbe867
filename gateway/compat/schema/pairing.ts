import { type Alternative, type Group, type Groups, sameness } from './groups.ts';
import { mappingOf, nameOf } from './mapping.ts';
import type { Pair } from './pair.ts';
import { breakages } from './severity.ts';

export interface Pairing {
  readonly kept: readonly (readonly [old: Alternative, now: Alternative])[];
  readonly removed: readonly Alternative[];
  readonly added: readonly Alternative[];
}

// Beyond so many left over, which one became which is no longer tried out.
const mostTrials = 400;

/** Which choice became which. Several (in an `allOf`) may stand in another order: those go together that share the most. */
export function pairGroups(old: Groups, now: Groups): [Group, Group][] {
  if (old.length !== now.length) return [];
  if (old.length === 1 && old[0] && now[0]) return [[old[0], now[0]]];
  const waiting = [...now];
  return old.map((group) => {
    const known = new Set(group.alternatives.map(sameness));
    const shared = waiting.map(({ alternatives }) => alternatives.filter((one) => known.has(sameness(one))).length);
    const [best = group] = waiting.splice(shared.indexOf(Math.max(...shared)), 1);
    return [group, best];
  });
}

/**
 * Which alternative became which: the one behind the same `$ref`, then the one that the same value of a discriminator
 * leads to, then the one that demands the same, then that of the same title, and of what is left the ones between which
 * least is broken.
 */
export function pairUp(old: readonly Alternative[], now: readonly Alternative[], pair: Pair): Pairing {
  let pairing: Pairing = { kept: [], removed: old, added: now };
  pairing = pairBy(({ ref }) => ref, pairing);
  const values = sharedValues(pairing, pair);
  for (const keyOf of [(one: Alternative) => values.get(one), sameness, ({ title }: Alternative) => title]) {
    pairing = pairBy(keyOf, pairing);
  }
  const isTooMuch = pairing.removed.length * pairing.added.length > mostTrials;
  return isTooMuch ? pairBy(fieldsOf, pairing) : closest(pairing, pair);
}

function pairBy(keyOf: (one: Alternative) => string | undefined, { kept, removed, added }: Pairing): Pairing {
  const waiting = new Map<string, Alternative[]>();
  for (const one of added) {
    const key = keyOf(one);
    if (key === undefined) continue;
    const known = waiting.get(key);
    if (known) known.push(one);
    else waiting.set(key, [one]);
  }
  const found = new Map<Alternative, Alternative>();
  for (const one of removed) {
    const key = keyOf(one);
    const match = key === undefined ? undefined : waiting.get(key)?.shift();
    if (match) found.set(one, match);
  }
  const taken = new Set(found.values());
  return {
    kept: [...kept, ...found],
    removed: removed.filter((one) => !found.has(one)),
    added: added.filter((one) => !taken.has(one)),
  };
}

/** For what is left, a value that leads to it in the mapping of either side. */
function sharedValues({ removed, added }: Pairing, pair: Pair): ReadonlyMap<Alternative, string> {
  const shared = new Map<Alternative, string>();
  if (removed.length === 0 || added.length === 0) return shared;
  const [old, now] = [byName(removed), byName(added)];
  const [were, are] = [mappingOf(pair.old), mappingOf(pair.new)];
  for (const [value, target] of were) {
    const [before, after] = [old.get(nameOf(target.value)), now.get(nameOf(are.get(value)?.value))];
    if (!before || !after || shared.has(before) || shared.has(after) || !areAkin(before, after)) continue;
    shared.set(before, value).set(after, value);
  }
  return shared;
}

function byName(alternatives: readonly Alternative[]): Map<string, Alternative> {
  return new Map(alternatives.flatMap((one) => (one.ref === undefined ? [] : [[nameOf(one.ref), one] as const])));
}

function fieldsOf({ schema }: Alternative): string | undefined {
  const names = [...schema.view.properties.keys()];
  return names.length === 0 ? undefined : names.sort().join(' ');
}

function closest({ kept, removed, added }: Pairing, pair: Pair): Pairing {
  const trials = removed.flatMap((old) =>
    added
      .filter((now) => areAkin(old, now))
      .map((now) => ({ old, now, broken: breakages(pair.trial(old.schema, now.schema)) })),
  );
  const found = new Map<Alternative, Alternative>();
  const taken = new Set<Alternative>();
  for (const { old, now } of trials.sort((a, b) => a.broken - b.broken)) {
    if (found.has(old) || taken.has(now)) continue;
    found.set(old, now);
    taken.add(now);
  }
  return {
    kept: [...kept, ...found],
    removed: removed.filter((one) => !found.has(one)),
    added: added.filter((one) => !taken.has(one)),
  };
}

/** Whether one may have become the other: both are no objects, or objects that have a field in common. */
function areAkin(old: Alternative, now: Alternative): boolean {
  const [before, after] = [old.schema.view.properties, now.schema.view.properties];
  if (before.size === 0 && after.size === 0) return true;
  return [...before.keys()].some((name) => after.has(name));
}
