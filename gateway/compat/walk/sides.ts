import { type Comparison, type Direction, emptyComparison } from '../change.ts';
import type { Documents } from '../document/documents.ts';
import type { SubtreeEquality } from '../document/identicalSubtrees.ts';
import type { Located } from '../document/located.ts';
import { SchemaComparer } from '../schema/compareSchemas.ts';
import type { Wire } from '../schema/pair.ts';
import { unionOfTypes } from '../schema/reach.ts';
import type { Schema } from '../schema/schema.ts';
import { Schemas } from '../schema/schemas.ts';

/** Who sends the requests: clients to the API, or the API to clients (webhooks and callbacks). */
export type Flow = 'in' | 'out';

/** Two contracts that are held against each other, and what is known already. */
export class Sides {
  readonly old: Documents;
  readonly new: Documents;
  readonly #twins: SubtreeEquality;
  readonly #schemas: { readonly old: Schemas; readonly new: Schemas };
  readonly #comparer: SchemaComparer;
  readonly #known = new Map<unknown, Map<unknown, Map<string, Comparison>>>();

  /** `twins`: what need not be looked at. */
  constructor(old: Documents, now: Documents, twins: SubtreeEquality) {
    this.old = old;
    this.new = now;
    this.#twins = twins;
    this.#comparer = new SchemaComparer(twins);
    this.#schemas = { old: new Schemas(old), new: new Schemas(now) };
  }

  /** Holds the schemas at two places against each other; one that is not there lets everything through. */
  schemas(old: Located, now: Located, direction: Direction, wire: Wire): Comparison | undefined {
    if (old.value === undefined && now.value === undefined) return undefined;
    if (this.#twins.are(old, now)) return undefined;
    return this.#comparer.compare(this.#schemas.old.of(old), this.#schemas.new.of(now), { direction, wire });
  }

  schemasAt(old: Located, now: Located): readonly [Schema, Schema] {
    return [this.#schemas.old.of(old), this.#schemas.new.of(now)];
  }

  /** Whether the schemas at both places let nothing through but single values. */
  arePlain(old: Located, now: Located): boolean {
    const types = this.schemasAt(old, now).map((schema) => unionOfTypes(schema));
    return types.every((some) => some !== undefined && !some.has('array') && !some.has('object'));
  }

  /** Compares what two places mean (`$ref`s followed), once for each `what`, wherever else it is used. */
  once(
    what: string,
    old: Located,
    now: Located,
    compare: (old: Located, now: Located, into: Comparison) => void,
  ): Comparison {
    const [before, after] = [this.old.resolve(old), this.new.resolve(now)];
    const ofOld = this.#known.get(before.value) ?? new Map<unknown, Map<string, Comparison>>();
    const ofBoth = ofOld.get(after.value) ?? new Map<string, Comparison>();
    const known = ofBoth.get(what);
    if (known) return known;
    const comparison = emptyComparison();
    this.#known.set(before.value, ofOld.set(after.value, ofBoth.set(what, comparison)));
    compare(before, after, comparison);
    comparison.isDone = true;
    return comparison;
  }

  /** The same of what stands by itself: nothing can differ in it where both sides say the same. */
  unlessTwins(...[what, old, now, compare]: Parameters<Sides['once']>): Comparison | undefined {
    return this.#twins.are(old, now) ? undefined : this.once(what, old, now, compare);
  }
}

/** Where what is in a request goes, and what is in a response. */
export function directions(flow: Flow): { readonly request: Direction; readonly response: Direction } {
  return flow === 'in' ? { request: 'request', response: 'response' } : { request: 'response', response: 'request' };
}

/** Notes one thing that differs. */
export function found(
  into: Comparison,
  { kind, effect }: Pick<Comparison['changes'][number], 'kind' | 'effect'>,
  direction: Direction | undefined,
  name: string,
  old: Located | undefined,
  now: Located | undefined,
): void {
  const change = { kind, effect, direction, name, old, new: now };
  into.changes.push(change as Comparison['changes'][number]);
}
