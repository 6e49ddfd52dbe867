import type { Documents } from '../../../contract/document/documents.ts';
import type { Located } from '../../../contract/document/located.ts';
import { expandAlternatives, unionOfTypes } from '../../../contract/schema/choices.ts';
import type { Schema } from '../../../contract/schema/schema.ts';
import { Schemas } from '../../../contract/schema/schemas.ts';
import { type Comparison, compareDescriptions, emptyComparison, type SeverityOf } from './change.ts';
import { compareChoices } from './choices.ts';
import { compareDiscriminators } from './discriminators.ts';
import { compareConditions, compareFields, compareItems } from './fields.ts';
import type { SubtreeEquality } from './identicalSubtrees.ts';
import { compareLimits, compareValues } from './limits.ts';
import { SchemaPair, type SchemaUse } from './schemaPair.ts';
import { compareNotations, compareTypes } from './types.ts';

type CompareLocated = (old: Located, now: Located, into: Comparison) => void;

/** Two contracts that are being compared, and the comparisons made so far. */
export class ContractPair {
  readonly old: Documents;
  readonly new: Documents;
  readonly #identical: SubtreeEquality;
  readonly #oldSchemas: Schemas;
  readonly #newSchemas: Schemas;
  readonly #comparer: SchemaComparer;
  /** Old value → new value → aspect → comparison. */
  readonly #comparisons = new Map<unknown, Map<unknown, Map<string, Comparison>>>();

  /** @param identical finds the parts of the contracts that need no comparison */
  constructor(old: Documents, now: Documents, identical: SubtreeEquality, severityOf: SeverityOf) {
    this.old = old;
    this.new = now;
    this.#identical = identical;
    this.#oldSchemas = new Schemas(old);
    this.#newSchemas = new Schemas(now);
    this.#comparer = new SchemaComparer(identical, severityOf);
  }

  /** Compares two schemas. A missing schema accepts every value. Undefined: both are missing, or they are identical. */
  compareSchemas(old: Located, now: Located, use: SchemaUse): Comparison | undefined {
    if (old.value === undefined && now.value === undefined) return undefined;
    if (this.#identical.areIdentical(old, now)) return undefined;
    return this.#comparer.compare(...this.schemasAt(old, now), use);
  }

  schemasAt(old: Located, now: Located): [old: Schema, now: Schema] {
    return [this.#oldSchemas.schemaAt(old), this.#newSchemas.schemaAt(now)];
  }

  /** Whether both schemas exclude arrays and objects. */
  areScalar(old: Located, now: Located): boolean {
    const typesOfBoth = this.schemasAt(old, now).map((schema) => unionOfTypes(schema));
    return typesOfBoth.every((types) => types !== undefined && !types.has('array') && !types.has('object'));
  }

  /**
   * Compares two places with their `$ref`s resolved. Components are used in many places, so the comparison is made once for
   * each `aspect`, a text that identifies what is compared and how.
   */
  compareOnce(aspect: string, old: Located, now: Located, compare: CompareLocated): Comparison {
    const [before, after] = [this.old.resolve(old), this.new.resolve(now)];
    const comparisonsOfOld = this.#comparisons.get(before.value) ?? new Map<unknown, Map<string, Comparison>>();
    const comparisonsOfPair = comparisonsOfOld.get(after.value) ?? new Map<string, Comparison>();
    const known = comparisonsOfPair.get(aspect);
    if (known) return known;
    const comparison = emptyComparison();
    this.#comparisons.set(before.value, comparisonsOfOld.set(after.value, comparisonsOfPair.set(aspect, comparison)));
    compare(before, after, comparison);
    comparison.isFinished = true;
    return comparison;
  }

  /** Like `compareOnce`. Undefined: the parts are identical. Not for parts whose meaning depends on the parts around them. */
  compareUnlessIdentical(aspect: string, old: Located, now: Located, compare: CompareLocated): Comparison | undefined {
    return this.#identical.areIdentical(old, now) ? undefined : this.compareOnce(aspect, old, now, compare);
  }
}

// The order matters: `compareChoices` removes changes that the functions before it added.
const keywordComparisons = [
  compareValues,
  compareLimits,
  compareFields,
  compareItems,
  compareConditions,
  compareChoices,
  compareNotations,
  compareDiscriminators,
];
const limitComparisons = [compareLimits, compareConditions];
// Key: the result of `compareTypes`, which decides what else is compared.
const comparisonsByScope = { all: keywordComparisons, limits: limitComparisons, none: [] };

/**
 * Compares each pair of schemas once for each use, so that a component shared by many routes is compared once and
 * recursion ends. A pair that contains itself finds its own unfinished comparison, which counts as unchanged.
 */
class SchemaComparer {
  readonly #identical: SubtreeEquality;
  readonly #severityOf: SeverityOf;
  /** Old schema → new schema → use → comparison. */
  readonly #comparisons = new Map<Schema, Map<Schema, Map<string, Comparison>>>();
  /** Schema → the schemas that `expandAlternatives` returns for it. */
  readonly #expanded = new Map<Schema, readonly Schema[] | undefined>();

  constructor(identical: SubtreeEquality, severityOf: SeverityOf) {
    this.#identical = identical;
    this.#severityOf = severityOf;
  }

  readonly compare = (old: Schema, now: Schema, use: SchemaUse): Comparison => {
    const comparisonsOfOld = this.#comparisons.get(old) ?? new Map<Schema, Map<string, Comparison>>();
    const comparisonsOfPair = comparisonsOfOld.get(now) ?? new Map<string, Comparison>();
    const key = `${use.direction} ${use.wireFormat}`;
    const known = comparisonsOfPair.get(key);
    if (known) return known;
    const result = emptyComparison();
    this.#comparisons.set(old, comparisonsOfOld.set(now, comparisonsOfPair.set(key, result)));
    const [identical, severityOf, compare, expand] = [this.#identical, this.#severityOf, this.compare, this.#expand];
    const pair = new SchemaPair({ old, new: now, use, result, identical, severityOf, compare, expand });
    comparePartDescriptions(old, now, result);
    for (const compareKeywords of comparisonsByScope[compareTypes(pair)]) compareKeywords(pair);
    result.isFinished = true;
    return result;
  };

  /** Keeps the result, because a schema may be compared with many others. */
  readonly #expand = (schema: Schema): readonly Schema[] | undefined => {
    if (!this.#expanded.has(schema)) this.#expanded.set(schema, expandAlternatives(schema));
    return this.#expanded.get(schema);
  };
}

/** A schema with `allOf` or `$ref` has several parts. Compares their descriptions, if both schemas have the same number of parts. */
function comparePartDescriptions({ parts: before }: Schema, { parts: after }: Schema, into: Comparison): void {
  if (before.length !== after.length) return;
  for (const [index, { located }] of before.entries())
    compareDescriptions(located, after[index]?.located ?? located, into);
}
