import type { Located } from '../document/located.ts';
import { unionOfTypes } from '../schema/choices.ts';
import type { JsonType } from '../schema/keywords.ts';
import type { Alternative, Choice } from '../schema/schema.ts';
import { isWithin } from '../schema/types.ts';
import type { Change, ChangeDetail } from './change.ts';
import { compareExpanded, dropMovedChanges, outlineOf } from './expandedChoices.ts';
import { isOverlapAdded } from './oneOfOverlap.ts';
import { pairAlternatives, pairChoices } from './pairing.ts';
import type { SchemaPair } from './schemaPair.ts';

type Types = ReadonlySet<JsonType> | undefined;

/**
 * Compares `oneOf` and `anyOf`. The keywords beside them are compared before. Changes that only moved between the choice
 * and these keywords are dropped again.
 */
export function compareChoices(pair: SchemaPair): void {
  const [old, now] = [pair.old.choices, pair.new.choices];
  if (old.length === 0 && now.length === 0) return;
  if (old.length !== now.length) {
    compareExpanded(pair);
    return;
  }
  for (const [before, after] of pairChoices(old, now)) compareChoice(pair, before, after);
  if (mayHaveMoved(pair.into.changes) || pair.isBreaking) dropMovedChanges(pair);
}

/** Whether a field was added or removed beside the choice, or alternatives were both added and removed. */
function mayHaveMoved(changes: readonly Change[]): boolean {
  const effects = new Set(changes.filter(({ kind }) => kind === 'alternative').map(({ effect }) => effect));
  return effects.size > 1 || changes.some(({ kind }) => kind === 'field');
}

function compareChoice(pair: SchemaPair, old: Choice, now: Choice): void {
  const pairs = pairAlternatives(old.alternatives, now.alternatives, pair);
  const { kept, removed, added } = pairs;
  for (const [before, after] of kept) {
    pair.comparePart({ kind: 'part', text: nameOfAlternative(before) ?? now.keyword }, before.schema, after.schema);
  }
  const [oldTypes, newTypes] = [unionOfTypes(pair.oldSchema), unionOfTypes(pair.newSchema)];
  for (const one of removed) addRemoved(pair, one, old, now, newTypes);
  for (const one of added) addAdded(pair, one, old, now, oldTypes);
  if (old.keyword !== now.keyword) addKeywordChange(pair, old, now);
  else if (isOverlapAdded(pair, pairs, old, now)) pair.addChange('structure', 'changed', now.keyword, old.at, now.at);
}

/** `types`: what the new schema accepts. */
function addRemoved(pair: SchemaPair, one: Alternative, old: Choice, now: Choice, types: Types): void {
  const isTypeGone = !isWithin(unionOfTypes(one.schema), types);
  if (isTypeGone && pair.isRequest) pair.addChange('type', 'narrower', 'type', old.at, now.at);
  else addAlternativeChange(pair, 'removed', one, one.at, now.at);
}

/** `types`: what the old schema accepted. */
function addAdded(pair: SchemaPair, one: Alternative, old: Choice, now: Choice, types: Types): void {
  const isTypeNew = !isWithin(unionOfTypes(one.schema), types);
  if (isTypeNew) pair.addChange('type', 'wider', 'type', old.at, now.at);
  else addAlternativeChange(pair, 'added', one, old.at, one.at);
}

function addAlternativeChange(
  pair: SchemaPair,
  effect: 'added' | 'removed',
  one: Alternative,
  old: Located,
  now: Located,
): void {
  const name = nameOfAlternative(one);
  const detail: ChangeDetail = { is: 'alternatives', alternatives: [outlineOf(one.schema)] };
  pair.addChange('alternative', effect, name ?? '', old, now, name === undefined ? detail : undefined);
}

function nameOfAlternative({ title, ref }: Alternative): string | undefined {
  return title ?? ref?.replace(/^.*\//s, '');
}

/** A `oneOf` rejects values that match two alternatives, and an `anyOf` does not: a change if alternatives may overlap. */
function addKeywordChange(pair: SchemaPair, old: Choice, now: Choice): void {
  const areDistinct = pair.new.at('discriminator') !== undefined || haveDistinctTypes(now.alternatives);
  const isStricter = now.keyword === 'oneOf' && pair.isRequest && !areDistinct;
  pair.addChange('structure', isStricter ? 'changed' : 'equivalent', now.keyword, old.at, now.at);
}

function haveDistinctTypes(alternatives: readonly Alternative[]): boolean {
  const seen = new Set<string>();
  return alternatives.every(({ schema }) => {
    const types = [...(unionOfTypes(schema) ?? ['any'])];
    const isNew = types.every((type) => type !== 'any' && !seen.has(type));
    for (const type of types) seen.add(type);
    return isNew;
  });
}
