import type { Change } from '../change.ts';
import { compareSpread, forgetWhatMoved } from './compareSpread.ts';
import { type Alternative, type Group, looksOf } from './groups.ts';
import { isWithin, type JsonType } from './jsonTypes.ts';
import type { Pair } from './pair.ts';
import { pairGroups, pairUp } from './pairing.ts';
import { unionOfTypes } from './reach.ts';
import { breakages } from './severity.ts';
import { isTornByNew } from './torn.ts';

type Types = ReadonlySet<JsonType> | undefined;

/** `oneOf` and `anyOf`. What stands beside them has been compared; where that has moved into them, it is taken back. */
export function compareGroups(pair: Pair): void {
  const [old, now] = [pair.old.groups, pair.new.groups];
  if (old.length === 0 && now.length === 0) return;
  if (old.length !== now.length) {
    compareSpread(pair);
    return;
  }
  for (const [before, after] of pairGroups(old, now)) compareGroup(pair, before, after);
  if (mayHaveMoved(pair.into.changes) || breakages(pair.into) > 0) forgetWhatMoved(pair);
}

/** Whether a field came or went beside the choice, or alternatives did both. */
function mayHaveMoved(changes: readonly Change[]): boolean {
  const effects = new Set(changes.filter(({ kind }) => kind === 'alternative').map(({ effect }) => effect));
  return effects.size > 1 || changes.some(({ kind }) => kind === 'field');
}

function compareGroup(pair: Pair, old: Group, now: Group): void {
  const pairing = pairUp(old.alternatives, now.alternatives, pair);
  const { kept, removed, added } = pairing;
  for (const [before, after] of kept) {
    pair.part({ kind: 'part', text: titleOf(before) ?? now.keyword }, before.schema, after.schema);
  }
  const [before, after] = [unionOfTypes(pair.oldSchema), unionOfTypes(pair.newSchema)];
  for (const one of removed) tellRemoved(pair, one, old, now, after);
  for (const one of added) tellAdded(pair, one, old, now, before);
  if (old.keyword !== now.keyword) tellKeyword(pair, old, now);
  else if (isTornByNew(pair, pairing, old, now)) pair.found('structure', 'changed', now.keyword, old.at, now.at);
}

function tellRemoved(pair: Pair, one: Alternative, old: Group, now: Group, types: Types): void {
  const isGone = !isWithin(unionOfTypes(one.schema), types);
  if (isGone && pair.context.direction === 'request') pair.found('type', 'narrower', 'type', old.at, now.at);
  else pair.found('alternative', 'removed', titleOf(one) ?? looksOf(one.schema), one.at, now.at);
}

function tellAdded(pair: Pair, one: Alternative, old: Group, now: Group, types: Types): void {
  const isNew = !isWithin(unionOfTypes(one.schema), types);
  if (isNew) pair.found('type', 'wider', 'type', old.at, now.at);
  else pair.found('alternative', 'added', titleOf(one) ?? looksOf(one.schema), old.at, one.at);
}

/** `oneOf` refuses what fulfils two of its alternatives, `anyOf` does not: a difference where two of them can be fulfilled. */
function tellKeyword(pair: Pair, old: Group, now: Group): void {
  const areApart = pair.new.at('discriminator') !== undefined || haveTypesOfTheirOwn(now.alternatives);
  const isStricter = now.keyword === 'oneOf' && pair.context.direction === 'request' && !areApart;
  pair.found('structure', isStricter ? 'changed' : 'equivalent', now.keyword, old.at, now.at);
}

function haveTypesOfTheirOwn(alternatives: readonly Alternative[]): boolean {
  const seen = new Set<string>();
  return alternatives.every(({ schema }) => {
    const types = [...(unionOfTypes(schema) ?? ['any'])];
    const isNew = types.every((type) => type !== 'any' && !seen.has(type));
    for (const type of types) seen.add(type);
    return isNew;
  });
}

function titleOf({ title, ref }: Alternative): string | undefined {
  return title ?? ref?.replace(/^.*\//s, '');
}
