import { unionOfTypes } from '../schema/choices.ts';
import type { JsonType } from '../schema/keywords.ts';
import type { Choice, Schema } from '../schema/schema.ts';
import { isWithin } from '../schema/types.ts';
import type { AlternativePairs } from './pairing.ts';
import { isSentAsText, type SchemaPair } from './schemaPair.ts';

// A `oneOf` rejects values that match two of its alternatives.

// Beyond so many pairs, overlaps are not searched.
const mostPairs = 400;
const scalars: ReadonlySet<JsonType> = new Set(['boolean', 'integer', 'number', 'string']);

/** Whether a new `oneOf` rejects values that were valid before, because two of its alternatives match them. */
export function losesToOverlap(pair: SchemaPair, old: readonly Schema[], now: readonly Schema[]): boolean {
  const { new: after, old: before } = pair;
  if (!after.choices.some(({ keyword }) => keyword === 'oneOf') || after.at('discriminator')) return false;
  if (before.choices.some(({ keyword }) => keyword === 'oneOf')) return false;
  return old.some((one) => {
    const including = now.filter((other) => includes(pair, other, one));
    const overlapping = now.filter((other) => !including.includes(other) && isScalarPartOf(pair, other, one));
    return including.length > 1 || (including.length === 1 && overlapping.length > 0);
  });
}

/**
 * Whether an alternative added to a `oneOf` overlaps with one that was there. Only scalar alternatives are examined: an
 * overlap of objects cannot be told for certain.
 */
export function isOverlapAdded(pair: SchemaPair, { kept, added }: AlternativePairs, old: Choice, now: Choice): boolean {
  if (now.keyword !== 'oneOf' || pair.new.at('discriminator')) return false;
  const keptScalars = kept.filter(([before]) => isScalar(before.schema));
  const addedScalars = added.filter(({ schema }) => isScalar(schema));
  if (keptScalars.length * addedScalars.length > mostPairs) return false;
  return keptScalars.some(([before, after]) =>
    addedScalars.some(({ schema }) => {
      const isPart = isScalarPartOf(pair, schema, before.schema);
      const part = isPart ? schema : before.schema;
      if (!isPart && !isScalarPartOf(pair, part, schema)) return false;
      if (pair.countBreakingBetween(before.schema, after.schema) > 0) return false;
      // Values that matched two of the old alternatives were invalid before.
      return old.alternatives.filter((one) => isScalarPartOf(pair, part, one.schema)).length === 1;
    }),
  );
}

/** Whether `whole` accepts all values of `part`. The types are compared as well: in a URL, 7 is not a part of "text". */
function includes(pair: SchemaPair, whole: Schema, part: Schema): boolean {
  return isWithin(unionOfTypes(part), unionOfTypes(whole)) && pair.isReplaceable(part, whole);
}

function isScalarPartOf(pair: SchemaPair, part: Schema, whole: Schema): boolean {
  if (!pair.isRequest || isSentAsText(pair.use)) return false;
  return isScalar(part) && isScalar(whole) && includes(pair, whole, part);
}

function isScalar({ view: { types, choices, conditions } }: Schema): boolean {
  return types !== undefined && isWithin(types, scalars) && choices.length === 0 && conditions.size === 0;
}
