import type { Located } from '../../../contract/document/located.ts';
import { unionOfTypes } from '../../../contract/schema/choices.ts';
import { isWithin, type JsonType } from '../../../contract/schema/keywords.ts';
import type { Alternative, Choice, Schema } from '../../../contract/schema/schema.ts';
import {
  type AlternativeOutline,
  addPart,
  type Change,
  type ChangeDetail,
  type Comparison,
  comparisonWithOneChange,
  countBreaking,
  firstBreaking,
  samePlace,
} from './change.ts';
import { type AlternativePairs, pairAlternatives, pairChoices } from './pairing.ts';
import { isSentAsText, noName, type SchemaPair } from './schemaPair.ts';
import { addNullChange } from './types.ts';

type Types = ReadonlySet<JsonType> | undefined;
/** Whether `now` may replace `old`. The functions of this type differ in which changes they permit. */
type Fits = (old: Schema, now: Schema) => boolean;

/**
 * Compares `oneOf` and `anyOf`. The keywords beside them are compared first. If a constraint only moved between a choice
 * and these keywords, the changes found for it are dropped.
 */
export function compareChoices(pair: SchemaPair): void {
  const [old, now] = [pair.old.choices, pair.new.choices];
  if (old.length === 0 && now.length === 0) return;
  if (old.length !== now.length) {
    compareExpanded(pair);
    return;
  }
  for (const [before, after] of pairChoices(old, now)) compareChoice(pair, before, after);
  compareTypesBeside(pair);
  if (mayHaveMoved(pair.result.changes) || pair.isBreaking) dropMovedChanges(pair);
}

/**
 * Compares the types if only one side has a `type` beside the choices. After a breaking change, a difference of types is not
 * added.
 */
function compareTypesBeside(pair: SchemaPair): void {
  if ((pair.old.types === undefined) === (pair.new.types === undefined)) return;
  const [before, after] = [unionOfTypes(pair.oldSchema), unionOfTypes(pair.newSchema)];
  const [isWithinOld, includesOld] = [isWithin(after, before), isWithin(before, after)];
  if ((isWithinOld && includesOld) || pair.isBreaking) return;
  const places = [pair.oldSchema.located, pair.newSchema.located] as const;
  pair.addChange('type', isWithinOld ? 'narrower' : includesOld ? 'wider' : 'changed', 'type', ...places);
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
    pair.comparePart(
      { kind: 'alternative', name: nameOfAlternative(before) ?? now.keyword },
      before.schema,
      after.schema,
    );
  }
  const [oldTypes, newTypes] = [unionOfTypes(pair.oldSchema), unionOfTypes(pair.newSchema)];
  for (const one of removed) reportRemoved(pair, one, old, now, newTypes);
  for (const one of added) reportAdded(pair, one, old, now, oldTypes);
  if (old.keyword !== now.keyword) addKeywordChange(pair, old, now);
  else if (isOverlapAdded(pair, pairs, old, now)) pair.addChange('structure', 'changed', now.keyword, old.at, now.at);
}

/** Adds the change for a removed alternative. `types`: what the new schema accepts. */
function reportRemoved(pair: SchemaPair, one: Alternative, old: Choice, now: Choice, types: Types): void {
  const isTypeGone = !isWithin(unionOfTypes(one.schema), types);
  if (isTypeGone && pair.isRequest) pair.addChange('type', 'narrower', 'type', old.at, now.at);
  else addAlternativeChange(pair, 'removed', one, one.at, now.at);
}

/** Adds the change for an added alternative. `types`: what the old schema accepted. */
function reportAdded(pair: SchemaPair, one: Alternative, old: Choice, now: Choice, types: Types): void {
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

/** A `oneOf` rejects values that match two alternatives, and an `anyOf` accepts them. This matters if alternatives overlap. */
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

/**
 * Compares schemas that do not have the same number of choices. Each schema is expanded into all its possible alternatives,
 * and the keywords beside a choice are merged into each alternative. If an object became a choice of objects, for example, the
 * old object is compared with each of the new ones.
 */
function compareExpanded(pair: SchemaPair): void {
  const { oldSchema, newSchema, isRequest } = pair;
  const [old, now] = pair.expanded;
  dropChanges(pair);
  const places = [oldSchema.located, newSchema.located] as const;
  if (old === undefined || now === undefined) {
    pair.addChange('structure', 'changed', noName, ...places);
    return;
  }
  const fits: Fits = (before, after) => pair.countBreakingBetween(before, after) === 0;
  const [lost, gained] = unmatched(old, now, fits);
  if (isSafeReplacement(pair, old, now, fits)) {
    if (isRequest || !addWarnings(pair, old, now)) pair.addChange('structure', 'equivalent', noName, ...places);
    return;
  }
  const hasNewType = gained.some((one) => !isWithin(unionOfTypes(one), unionOfTypes(oldSchema)));
  if (!isRequest && hasNewType) pair.addChange('type', 'wider', 'type', ...places);
  else if (!isRequest && lost.length === 0) {
    pair.addChange('alternative', 'added', noName, ...places, {
      is: 'alternatives',
      alternatives: gained.map(outlineOf),
    });
  } else if (isRequest) addStructureChange(pair, closestComparison(pair, lost, now));
  else {
    const closest = closestComparison(pair, old, gained);
    if (!addLostField(pair, closest)) addStructureChange(pair, closest);
  }
}

/**
 * For each new alternative that cannot replace any old one without a warning, adds the changes from the closest old one. False: there
 * is no such alternative.
 */
function addWarnings(pair: SchemaPair, old: readonly Schema[], now: readonly Schema[]): boolean {
  const [, withWarnings] = unmatched(old, now, (before, after) => pair.isReplaceable(before, after));
  const comparisons = withWarnings.map((after) => closestComparison(pair, old, [after]));
  for (const comparison of comparisons) addPart(pair.result, samePlace, comparison);
  return withWarnings.length > 0;
}

/** What identifies an alternative without a name. */
function outlineOf({ view }: Schema): AlternativeOutline {
  return {
    values: view.enumValues && [...view.enumValues.keys()].slice(0, 3),
    types: view.types && [...view.types],
    fields: [...view.properties.keys()].slice(0, 3),
  };
}

/** Drops the changes found so far if the constraints only moved between a choice and the keywords beside it. */
function dropMovedChanges(pair: SchemaPair): void {
  const { oldSchema, newSchema, result } = pair;
  if (oldSchema.acceptsNull !== newSchema.acceptsNull) return;
  // A `oneOf` now rejects values that match two alternatives, so the constraints have not only moved.
  if (result.changes.some(({ kind, effect }) => kind === 'structure' && effect === 'changed')) return;
  const [old, now] = pair.expanded;
  if (old === undefined || now === undefined) return;
  const [lost, gained] = unmatched(old, now, (before, after) => pair.isUnchanged(before, after));
  const isSame = lost.length === 0 && gained.length === 0 && !rejectsOverlaps(pair, old, now);
  // Warnings count, too: two objects with only optional fields have no breaking change, even if they have no field in common.
  const fits: Fits = (before, after) => pair.isReplaceable(before, after);
  const hasOnlyMoved = isSame || (pair.isBreaking && isSafeReplacement(pair, old, now, fits));
  if (!hasOnlyMoved) return;
  dropChanges(pair);
  pair.addChange('structure', 'equivalent', noName, oldSchema.located, newSchema.located);
}

/** Whether every old request is still valid, or every new response was possible before. */
function isSafeReplacement(pair: SchemaPair, old: readonly Schema[], now: readonly Schema[], fits: Fits): boolean {
  const [lost, gained] = unmatched(old, now, fits);
  return pair.isRequest ? lost.length === 0 && !rejectsOverlaps(pair, old, now) : gained.length === 0;
}

/** The old schemas that fit no new one, and the new schemas that no old one fits. */
function unmatched(old: readonly Schema[], now: readonly Schema[], fits: Fits): [lost: Schema[], gained: Schema[]] {
  const lost = old.filter((before) => !now.some((after) => fits(before, after)));
  const gained = now.filter((after) => !old.some((before) => fits(before, after)));
  return [lost, gained];
}

/** Drops the changes found so far: they compare only the keywords beside the choice. Descriptions and null remain. */
function dropChanges(pair: SchemaPair): void {
  const { changes, parts } = pair.result;
  const docs = changes.filter(({ kind }) => kind === 'docs');
  changes.splice(0, changes.length, ...docs);
  parts.length = 0;
  const isNull = pair.newSchema.acceptsNull;
  if (pair.oldSchema.acceptsNull !== isNull) addNullChange(pair, isNull);
}

/** Of the comparisons of each old schema with each new one, the comparison with the fewest breaking changes. */
function closestComparison(pair: SchemaPair, old: readonly Schema[], now: readonly Schema[]): Comparison | undefined {
  const comparisons = old.flatMap((before) => now.map((after) => pair.comparisonBetween(before, after)));
  return comparisons.sort((a, b) => countBreaking(a, pair.severityOf) - countBreaking(b, pair.severityOf))[0];
}

/** Adds a change for a removed field if nothing else is breaking. False: something else is, and no change was added. */
function addLostField(pair: SchemaPair, closest: Comparison | undefined): boolean {
  const cause = closest && firstBreaking(closest, pair.severityOf);
  if (!closest || cause?.change.kind !== 'field' || countBreaking(closest, pair.severityOf) !== 1) return false;
  const comparison = cause.steps.reduceRight<Comparison>(
    (part, step) => ({ changes: [], parts: [{ step, comparison: part }], isFinished: true }),
    comparisonWithOneChange(cause.change),
  );
  pair.result.parts.push({ step: undefined, comparison });
  return true;
}

function addStructureChange(pair: SchemaPair, closest: Comparison | undefined): void {
  const cause = closest && firstBreaking(closest, pair.severityOf);
  const places = [pair.oldSchema.located, pair.newSchema.located] as const;
  pair.addChange('structure', 'changed', noName, ...places, cause && { is: 'cause', ...cause });
}

// If there are more pairs of alternatives, overlaps between them are not searched for.
const maxPairs = 400;
const scalarTypes: ReadonlySet<JsonType> = new Set(['boolean', 'integer', 'number', 'string']);

/** Whether a new `oneOf` rejects values that were valid before, because two of its alternatives match them. */
function rejectsOverlaps(pair: SchemaPair, old: readonly Schema[], now: readonly Schema[]): boolean {
  const { new: after, old: before } = pair;
  if (!after.choices.some(({ keyword }) => keyword === 'oneOf') || after.at('discriminator')) return false;
  if (before.choices.some(({ keyword }) => keyword === 'oneOf')) return false;
  return old.some((oldAlternative) => {
    const including = now.filter((newAlternative) => includes(pair, newAlternative, oldAlternative));
    const overlapping = now.filter(
      (newAlternative) => !including.includes(newAlternative) && isScalarPartOf(pair, newAlternative, oldAlternative),
    );
    return including.length > 1 || (including.length === 1 && overlapping.length > 0);
  });
}

/**
 * Whether an alternative that was added to a `oneOf`, or that accepts more than before, overlaps with an alternative that
 * existed before. Only scalar alternatives are examined, because an overlap of objects cannot be determined.
 */
function isOverlapAdded(pair: SchemaPair, { kept, added }: AlternativePairs, old: Choice, now: Choice): boolean {
  if (now.keyword !== 'oneOf' || pair.new.at('discriminator')) return false;
  const keptScalars = kept.filter(([before]) => isScalar(before.schema));
  const newScalars = [...added, ...kept.map(([, after]) => after)].filter(({ schema }) => isScalar(schema));
  if (keptScalars.length * newScalars.length > maxPairs) return false;
  return keptScalars.some(([before, after]) =>
    newScalars.some((other) => {
      if (other === after) return false;
      const isOtherWithinKept = isScalarPartOf(pair, other.schema, before.schema);
      // If one scalar includes the other, the smaller one is the overlap.
      const overlap = isOtherWithinKept ? other.schema : before.schema;
      if (!isOtherWithinKept && !isScalarPartOf(pair, overlap, other.schema)) return false;
      if (pair.countBreakingBetween(before.schema, after.schema) > 0) return false;
      // Values that matched two of the old alternatives were invalid before.
      return old.alternatives.filter((one) => isScalarPartOf(pair, overlap, one.schema)).length === 1;
    }),
  );
}

/**
 * Whether `whole` accepts all values of `part`. In a URL, `isReplaceable` accepts a string for a number, so the types are
 * compared, too.
 */
function includes(pair: SchemaPair, whole: Schema, part: Schema): boolean {
  return isWithin(unionOfTypes(part), unionOfTypes(whole)) && pair.isReplaceable(part, whole);
}

function isScalarPartOf(pair: SchemaPair, part: Schema, whole: Schema): boolean {
  if (!pair.isRequest || isSentAsText(pair.use)) return false;
  return isScalar(part) && isScalar(whole) && includes(pair, whole, part);
}

function isScalar({ view: { types, choices, conditions } }: Schema): boolean {
  return types !== undefined && isWithin(types, scalarTypes) && choices.length === 0 && conditions.size === 0;
}
