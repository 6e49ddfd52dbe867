import type { Located } from '../../../contract/document/located.ts';
import type { Direction } from '../../../contract/routes.ts';
import { isApplicable } from '../../../contract/schema/keywords.ts';
import type { Schema, SubschemaRef, View } from '../../../contract/schema/schema.ts';
import {
  addPart,
  type ChangeDetail,
  type ChangeOf,
  type Comparison,
  countBreaking,
  isCompatible,
  isUnchanged,
  type Kind,
  type PathStep,
  type SeverityOf,
} from './change.ts';
import type { SubtreeEquality } from './identicalSubtrees.ts';

/**
 * How values are written. In URLs, headers and forms (`text`, `multipart`) the number 7 and the string "7" look alike;
 * `bytes` are sent as they are.
 */
export type WireFormat = 'json' | 'text' | 'xml' | 'multipart' | 'bytes';

/** Where the values of a schema are used. */
export interface SchemaUse {
  readonly direction: Direction;
  readonly wireFormat: WireFormat;
}

/** Whether clients send values as text without a type. In responses the type in the contract counts. */
export function isSentAsText({ direction, wireFormat }: SchemaUse): boolean {
  return direction === 'request' && (wireFormat === 'text' || wireFormat === 'multipart');
}

export interface SchemaPairOptions {
  readonly old: Schema;
  readonly new: Schema;
  readonly use: SchemaUse;
  readonly result: Comparison;
  readonly identical: SubtreeEquality;
  readonly severityOf: SeverityOf;
  readonly compare: (old: Schema, now: Schema, use: SchemaUse) => Comparison;
  readonly expand: (schema: Schema) => readonly Schema[] | undefined;
}

/** The `name` of a change that needs none. */
export const noName = '';

/** Two schemas that are being compared. */
export class SchemaPair {
  readonly oldSchema: Schema;
  readonly newSchema: Schema;
  readonly use: SchemaUse;
  /** Collects the changes. */
  readonly result: Comparison;
  readonly severityOf: SeverityOf;
  readonly #identical: SubtreeEquality;
  readonly #compare: SchemaPairOptions['compare'];
  readonly #expand: SchemaPairOptions['expand'];

  constructor({ old, new: now, use, result, identical, severityOf, compare, expand }: SchemaPairOptions) {
    this.oldSchema = old;
    this.newSchema = now;
    this.use = use;
    this.result = result;
    this.#identical = identical;
    this.severityOf = severityOf;
    this.#compare = compare;
    this.#expand = expand;
  }

  /** The meaning of `oldSchema`. */
  get old(): View {
    return this.oldSchema.view;
  }

  /** The meaning of `newSchema`. */
  get new(): View {
    return this.newSchema.view;
  }

  get isRequest(): boolean {
    return this.use.direction === 'request';
  }

  /** False for a keyword that limits a type which only one of the schemas accepts: the change of type includes that limit. */
  isKeywordComparable(keyword: string): boolean {
    return isApplicable(keyword, this.old.types) === isApplicable(keyword, this.new.types);
  }

  addChange<K extends Kind>(
    kind: K,
    effect: ChangeOf<K>['effect'],
    name: string,
    old: Located | undefined,
    now: Located | undefined,
    detail?: ChangeDetail,
  ): void {
    const change = { kind, effect, direction: this.use.direction, name, old, new: now, ...(detail && { detail }) };
    this.result.changes.push(change as ChangeOf<K> & Comparison['changes'][number]);
  }

  /** Compares parts of the two schemas and adds the result. */
  comparePart(step: PathStep | undefined, old: Schema, now: Schema): void {
    addPart(this.result, step, this.comparisonBetween(old, now));
  }

  /** Like `comparePart`. Identical subschemas are skipped without building them. */
  compareSubschemas(step: PathStep, old: SubschemaRef, now: SubschemaRef): void {
    if (!this.areIdentical(old, now)) this.comparePart(step, old.schema, now.schema);
  }

  areIdentical(old: SubschemaRef, now: SubschemaRef): boolean {
    // Several locations apply together, and `at` is only the first of them.
    return old.locations.length === 1 && now.locations.length === 1 && this.#identical.areIdentical(old.at, now.at);
  }

  /** Compares two schemas with the same use. Does not add the result. */
  comparisonBetween(old: Schema, now: Schema): Comparison {
    return this.#compare(old, now, this.use);
  }

  /** Both schemas, each as a list of schemas without `anyOf` and `oneOf`. Undefined: the list would be too long. */
  get expanded(): [old: readonly Schema[] | undefined, now: readonly Schema[] | undefined] {
    return [this.#expand(this.oldSchema), this.#expand(this.newSchema)];
  }

  /** The number of breaking changes between two schemas. */
  countBreakingBetween(old: Schema, now: Schema): number {
    return countBreaking(this.comparisonBetween(old, now), this.severityOf);
  }

  /** Whether `now` can replace `old` without a change of level `error` or `warn`. */
  isReplaceable(old: Schema, now: Schema): boolean {
    return isCompatible(this.comparisonBetween(old, now), this.severityOf);
  }

  isUnchanged(old: Schema, now: Schema): boolean {
    return isUnchanged(this.comparisonBetween(old, now));
  }

  /** Whether the changes added so far include a breaking one. */
  get isBreaking(): boolean {
    return countBreaking(this.result, this.severityOf) > 0;
  }
}
