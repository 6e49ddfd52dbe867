import type { SubtreeEquality } from '../document/identicalSubtrees.ts';
import type { Schema } from '../schema/schema.ts';
import type { Comparison, SeverityOf } from './change.ts';
import { compareChoices } from './choices.ts';
import { compareDocs, emptyComparison } from './comparison.ts';
import { compareConditions } from './conditions.ts';
import { compareDiscriminators } from './discriminators.ts';
import { compareFields, compareItems } from './fields.ts';
import { compareLimits, compareValues } from './limits.ts';
import { SchemaPair, type SchemaUse } from './schemaPair.ts';
import { compareNotations, compareTypes } from './types.ts';

// In this order: choices take back changes that the aspects before them found. See `dropMovedChanges`.
const aspects = [
  compareValues,
  compareLimits,
  compareFields,
  compareItems,
  compareConditions,
  compareChoices,
  compareNotations,
  compareDiscriminators,
];

/**
 * Compares each pair of schemas once for each use, so that a component shared by many routes is compared once and
 * recursion ends. A pair that contains itself finds its own unfinished comparison, which counts as unchanged.
 */
export class SchemaComparer {
  readonly #identical: SubtreeEquality;
  readonly #severityOf: SeverityOf;
  readonly #known = new Map<Schema, Map<Schema, Map<string, Comparison>>>();

  constructor(identical: SubtreeEquality, severityOf: SeverityOf) {
    this.#identical = identical;
    this.#severityOf = severityOf;
  }

  readonly compare = (old: Schema, now: Schema, use: SchemaUse): Comparison => {
    const withOld = this.#known.get(old) ?? new Map<Schema, Map<string, Comparison>>();
    const withBoth = withOld.get(now) ?? new Map<string, Comparison>();
    const key = `${use.direction} ${use.wire}`;
    const known = withBoth.get(key);
    if (known) return known;
    const into = emptyComparison();
    this.#known.set(old, withOld.set(now, withBoth.set(key, into)));
    const [identical, severityOf, compare] = [this.#identical, this.#severityOf, this.compare];
    const pair = new SchemaPair({ old, new: now, use, into, identical, severityOf, compare });
    compareDescriptions(old, now, into);
    if (compareTypes(pair)) for (const compareAspect of aspects) compareAspect(pair);
    into.isDone = true;
    return into;
  };
}

/** Part by part, if there are as many as before. */
function compareDescriptions({ parts: before }: Schema, { parts: after }: Schema, into: Comparison): void {
  if (before.length !== after.length) return;
  for (const [index, { located }] of before.entries()) compareDocs(located, after[index]?.located ?? located, into);
}
