import { type Comparison, emptyComparison } from '../change.ts';
import { compareDocs } from '../compareDocs.ts';
import type { SubtreeEquality } from '../document/identicalSubtrees.ts';
import { compareConditions } from './compareConditions.ts';
import { compareFields } from './compareFields.ts';
import { compareGroups } from './compareGroups.ts';
import { compareItems } from './compareItems.ts';
import { compareLimits } from './compareLimits.ts';
import { compareTypes } from './compareTypes.ts';
import { compareValues } from './compareValues.ts';
import { compareWriting } from './compareWriting.ts';
import { type Context, Pair } from './pair.ts';
import type { Schema } from './schema.ts';

// One after the other; the first decides whether the others make sense.
const aspects = [
  compareValues,
  compareLimits,
  compareFields,
  compareItems,
  compareConditions,
  compareGroups,
  compareWriting,
];

/** Part by part, where there are as many as before. */
function compareDescriptions({ parts: before }: Schema, { parts: after }: Schema, into: Comparison): void {
  if (before.length !== after.length) return;
  for (const [index, { located }] of before.entries()) compareDocs(located, after[index]?.located ?? located, into);
}

/**
 * Holds schemas against each other, each pair once: what is recursive comes to an end, and what many routes share is
 * walked once. A pair that is still being compared counts as equal wherever it turns up within itself.
 */
export class SchemaComparer {
  readonly #twins: SubtreeEquality;
  readonly #known = new Map<Schema, Map<Schema, Map<string, Comparison>>>();

  constructor(twins: SubtreeEquality) {
    this.#twins = twins;
  }

  readonly compare = (old: Schema, now: Schema, context: Context): Comparison => {
    const ofOld = this.#known.get(old) ?? new Map<Schema, Map<string, Comparison>>();
    const ofBoth = ofOld.get(now) ?? new Map<string, Comparison>();
    const key = `${context.direction} ${context.wire}`;
    const known = ofBoth.get(key);
    if (known) return known;
    const comparison = emptyComparison();
    this.#known.set(old, ofOld.set(now, ofBoth.set(key, comparison)));
    const pair = new Pair({ old, new: now, context, into: comparison, twins: this.#twins, compare: this.compare });
    compareDescriptions(old, now, comparison);
    if (compareTypes(pair)) for (const compareAspect of aspects) compareAspect(pair);
    comparison.isDone = true;
    return comparison;
  };
}
