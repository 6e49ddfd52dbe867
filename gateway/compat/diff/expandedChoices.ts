import { acceptsNull, expandAlternatives, unionOfTypes } from '../schema/choices.ts';
import type { Schema } from '../schema/schema.ts';
import { isWithin } from '../schema/types.ts';
import type { AlternativeOutline, Comparison } from './change.ts';
import { comparisonOf, countBreaking, firstBreaking } from './comparison.ts';
import { losesToOverlap } from './oneOfOverlap.ts';
import type { SchemaPair } from './schemaPair.ts';
import { addNullChange } from './types.ts';

type Fits = (old: Schema, now: Schema) => boolean;

/**
 * Compares schemas whose choices differ in number. Each is expanded into all the alternatives it stands for, with the
 * keywords beside the choice merged into each: an object that became a choice of objects is compared with each of them.
 */
export function compareExpanded(pair: SchemaPair): void {
  const { oldSchema, newSchema, isRequest } = pair;
  const [old, now] = [expandAlternatives(oldSchema), expandAlternatives(newSchema)];
  dropChanges(pair);
  const places = [oldSchema.located, newSchema.located] as const;
  if (old === undefined || now === undefined) {
    pair.addChange('structure', 'changed', '', ...places);
    return;
  }
  const fits: Fits = (before, after) => pair.countBreakingBetween(before, after) === 0;
  const [lost, gained] = unmatched(old, now, fits);
  if (isSound(pair, old, now, fits)) {
    pair.addChange('structure', 'equivalent', '', ...places);
    return;
  }
  const hasNewType = gained.some((one) => !isWithin(unionOfTypes(one), unionOfTypes(oldSchema)));
  if (!isRequest && hasNewType) pair.addChange('type', 'wider', 'type', ...places);
  else if (!isRequest && lost.length === 0) {
    pair.addChange('alternative', 'added', '', ...places, { is: 'alternatives', alternatives: gained.map(outlineOf) });
  } else if (isRequest) addStructureChange(pair, nearest(pair, lost, now));
  else if (!addLostField(pair, nearest(pair, old, gained))) addStructureChange(pair, nearest(pair, old, gained));
}

/** What identifies an alternative without a name. */
export function outlineOf({ view }: Schema): AlternativeOutline {
  return {
    values: view.values && [...view.values.keys()].slice(0, 3),
    types: view.types && [...view.types],
    fields: [...view.properties.keys()].slice(0, 3),
  };
}

/** Drops the changes of a schema with choices if they only moved between a choice and the keywords beside it. */
export function dropMovedChanges(pair: SchemaPair): void {
  const { oldSchema, newSchema, into } = pair;
  if (acceptsNull(oldSchema) !== acceptsNull(newSchema)) return;
  // `anyOf` became `oneOf`: that change stays.
  if (into.changes.some(({ kind, effect }) => kind === 'structure' && effect === 'changed')) return;
  const [old, now] = [expandAlternatives(oldSchema), expandAlternatives(newSchema)];
  if (old === undefined || now === undefined) return;
  const rest = unmatched(old, now, (before, after) => pair.isUnchanged(before, after));
  const isSame = rest.every(({ length }) => length === 0) && !losesToOverlap(pair, old, now);
  // Stricter than "not breaking": objects with only optional fields fit each other by JSON Schema even if they have no
  // field in common.
  const fits: Fits = (before, after) => pair.isReplaceable(before, after);
  if (!isSame && (!pair.isBreaking || !isSound(pair, old, now, fits))) return;
  dropChanges(pair);
  pair.addChange('structure', 'equivalent', '', oldSchema.located, newSchema.located);
}

/** Whether every old request is still valid, or every new response was possible before. */
function isSound(pair: SchemaPair, old: readonly Schema[], now: readonly Schema[], fits: Fits): boolean {
  const [lost, gained] = unmatched(old, now, fits);
  return pair.isRequest ? lost.length === 0 && !losesToOverlap(pair, old, now) : gained.length === 0;
}

/** The old schemas that fit no new one, and the new schemas that no old one fits. */
function unmatched(old: readonly Schema[], now: readonly Schema[], fits: Fits): [lost: Schema[], gained: Schema[]] {
  const lost = old.filter((before) => !now.some((after) => fits(before, after)));
  const gained = now.filter((after) => !old.some((before) => fits(before, after)));
  return [lost, gained];
}

/** Drops the changes found so far, which saw only the keywords beside the choice. Descriptions and null remain. */
function dropChanges(pair: SchemaPair): void {
  const { changes, parts } = pair.into;
  const docs = changes.filter(({ kind }) => kind === 'docs');
  changes.splice(0, changes.length, ...docs);
  parts.length = 0;
  const [wasNull, isNull] = [acceptsNull(pair.oldSchema), acceptsNull(pair.newSchema)];
  if (wasNull !== isNull) addNullChange(pair, isNull);
}

/** The comparison with the fewest breaking changes. */
function nearest(pair: SchemaPair, old: readonly Schema[], now: readonly Schema[]): Comparison | undefined {
  const comparisons = old.flatMap((before) => now.map((after) => pair.compared(before, after)));
  return comparisons.sort((a, b) => countBreaking(a, pair.severityOf) - countBreaking(b, pair.severityOf))[0];
}

/** Adds a change for a removed field if nothing else is breaking. False: the structure is the change. */
function addLostField(pair: SchemaPair, best: Comparison | undefined): boolean {
  const worst = best && firstBreaking(best, pair.severityOf);
  if (!best || worst?.change.kind !== 'field' || countBreaking(best, pair.severityOf) !== 1) return false;
  const comparison = worst.steps.reduceRight<Comparison>(
    (inner, step) => ({ changes: [], parts: [{ step, comparison: inner }], isDone: true }),
    comparisonOf(worst.change),
  );
  pair.into.parts.push({ step: undefined, comparison });
  return true;
}

function addStructureChange(pair: SchemaPair, best: Comparison | undefined): void {
  const cause = best && firstBreaking(best, pair.severityOf);
  const places = [pair.oldSchema.located, pair.newSchema.located] as const;
  pair.addChange('structure', 'changed', '', ...places, cause && { is: 'cause', ...cause });
}
