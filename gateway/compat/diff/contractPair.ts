import type { Documents } from '../document/documents.ts';
import type { SubtreeEquality } from '../document/identicalSubtrees.ts';
import type { Located } from '../document/located.ts';
import { unionOfTypes } from '../schema/choices.ts';
import type { Schema } from '../schema/schema.ts';
import { Schemas } from '../schema/schemas.ts';
import type { Comparison, Direction, SeverityOf } from './change.ts';
import { emptyComparison } from './comparison.ts';
import type { Wire } from './schemaPair.ts';
import { SchemaComparer } from './schemas.ts';

/** Who sends the requests of an operation. The API does so for webhooks and callbacks. */
export type Caller = 'client' | 'api';

/** The directions of what requests and responses contain. */
export function directionsOf(caller: Caller): { readonly request: Direction; readonly response: Direction } {
  return caller === 'client'
    ? { request: 'request', response: 'response' }
    : { request: 'response', response: 'request' };
}

type CompareLocated = (old: Located, now: Located, into: Comparison) => void;

/** Two contracts that are being compared, and the comparisons made so far. */
export class ContractPair {
  readonly old: Documents;
  readonly new: Documents;
  readonly #identical: SubtreeEquality;
  readonly #oldSchemas: Schemas;
  readonly #newSchemas: Schemas;
  readonly #comparer: SchemaComparer;
  readonly #known = new Map<unknown, Map<unknown, Map<string, Comparison>>>();

  /** @param identical tells which parts of the contracts need no comparison */
  constructor(old: Documents, now: Documents, identical: SubtreeEquality, severityOf: SeverityOf) {
    this.old = old;
    this.new = now;
    this.#identical = identical;
    this.#oldSchemas = new Schemas(old);
    this.#newSchemas = new Schemas(now);
    this.#comparer = new SchemaComparer(identical, severityOf);
  }

  /** Compares two schemas. One that is missing accepts every value. Undefined: nothing to compare. */
  compareSchemas(old: Located, now: Located, direction: Direction, wire: Wire): Comparison | undefined {
    if (old.value === undefined && now.value === undefined) return undefined;
    if (this.#identical.are(old, now)) return undefined;
    return this.#comparer.compare(...this.schemasAt(old, now), { direction, wire });
  }

  schemasAt(old: Located, now: Located): [old: Schema, now: Schema] {
    return [this.#oldSchemas.of(old), this.#newSchemas.of(now)];
  }

  /** Whether both schemas exclude arrays and objects. */
  areScalar(old: Located, now: Located): boolean {
    const types = this.schemasAt(old, now).map((schema) => unionOfTypes(schema));
    return types.every((some) => some !== undefined && !some.has('array') && !some.has('object'));
  }

  /** Compares two places with their `$ref`s resolved, once for each `aspect`: components are used in many places. */
  compareOnce(aspect: string, old: Located, now: Located, compare: CompareLocated): Comparison {
    const [before, after] = [this.old.resolve(old), this.new.resolve(now)];
    const withOld = this.#known.get(before.value) ?? new Map<unknown, Map<string, Comparison>>();
    const withBoth = withOld.get(after.value) ?? new Map<string, Comparison>();
    const known = withBoth.get(aspect);
    if (known) return known;
    const comparison = emptyComparison();
    this.#known.set(before.value, withOld.set(after.value, withBoth.set(aspect, comparison)));
    compare(before, after, comparison);
    comparison.isDone = true;
    return comparison;
  }

  /** Like `compareOnce`, for places whose meaning does not depend on their surroundings. Undefined: identical. */
  compareUnlessIdentical(aspect: string, old: Located, now: Located, compare: CompareLocated): Comparison | undefined {
    return this.#identical.are(old, now) ? undefined : this.compareOnce(aspect, old, now, compare);
  }
}
