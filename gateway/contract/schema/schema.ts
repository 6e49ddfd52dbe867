import { isMap, type JsonMap } from '../../shared/json.ts';
import type { ContractPlace, Located } from '../document/located.ts';
import type { JsonType } from './keywords.ts';
import type { Limits } from './limits.ts';

/** One schema object. With `allOf` or `$ref`, a schema consists of several parts. */
export interface SchemaPart {
  readonly map: JsonMap;
  readonly located: Located;
  readonly id: number;
}

/** The meaning of a schema: `allOf` is merged, `$ref`s are followed, and null is not one of the types. */
export interface View {
  /** Without null; undefined: any type. Derived from the other keywords if `type` is missing. */
  readonly types: ReadonlySet<JsonType> | undefined;
  readonly nullable: boolean;
  /** Null is allowed, but the `enum` or `const` omits it. */
  readonly enumOmitsNull: boolean;
  /** No value is valid. */
  readonly rejectsAll: boolean;
  /** The values of `enum` and `const` without null, by their JSON, in the order of the contract. */
  readonly enumValues: ReadonlyMap<string, Located> | undefined;
  readonly limits: Limits;
  readonly properties: ReadonlyMap<string, SubschemaRef>;
  readonly required: ReadonlyMap<string, Located>;
  /** The schema of fields that `properties` does not name; undefined: any value. */
  readonly additional: SubschemaRef | undefined;
  readonly items: SubschemaRef | undefined;
  readonly prefixItems: readonly SubschemaRef[];
  readonly choices: readonly Choice[];
  readonly conditions: Conditions;
  /** The value of a keyword in the first part that has it. */
  at(keyword: string): Located | undefined;
}

/** A `oneOf` or `anyOf`. */
export interface Choice {
  readonly keyword: 'oneOf' | 'anyOf';
  readonly alternatives: readonly Alternative[];
  readonly at: Located;
}

/** One schema of a choice. */
export interface Alternative {
  readonly schema: Schema;
  readonly at: Located;
  /** Its `$ref`; undefined if it is not a reference. */
  readonly ref: string | undefined;
  readonly title: string | undefined;
}

/** A further constraint, which may depend on the value. */
export interface Condition {
  readonly ref: SubschemaRef;
  /** True for `not`, and for `contains` with `maxContains`: a narrower subschema may make the whole schema wider. */
  readonly isNegated: boolean;
}

/**
 * Keyword and name → condition. Examples of keys: `contains`, `dependentSchemas/card`, `dependentRequired/card/owner`,
 * `not/0`, and `then (IF)`, in which `IF` is the value of `if` as JSON. If several parts have a `contains`, their keys are
 * `contains (VALUE)`.
 */
export type Conditions = ReadonlyMap<string, Condition>;

/** Finds and combines the schemas of one contract. `Schemas` implements it; `Schema` imports only this interface. */
export interface SchemaLookup {
  /** @throws CompareError for a `$ref` without a target */
  schemaAt(located: Located): Schema;
  /** The schema of values that are valid against all of `located`. */
  schemaOfAll(located: readonly Located[]): Schema;
  /** The schema that a value in a discriminator's mapping names or refers to; undefined: it does not exist. */
  discriminatedSchema(target: Located): Schema | undefined;
  /** A schema object without some keywords. If it has none of them, the same object. */
  without(located: Located, keywords: readonly string[]): Located;
  /** The alternatives of a choice, without those that allow only null or no value. */
  alternatives(part: SchemaPart, keyword: Choice['keyword']): Located[];
  /** Whether null is the only valid value. */
  isNull(located: Located): boolean;
  /** Whether the schema is `false` or `{ not: {} }`: no value is valid. */
  rejectsAll(located: Located): boolean;
  /** The schema object at `located` after its `$ref`s, and those beside a `$ref`, which apply together with it. */
  applied(located: Located): Located[];
  /** The named schemas with an `allOf` that refers to `parent`, directly or indirectly. */
  subtypesOf(parent: unknown): ReadonlyMap<string, Located>;
  viewOf(schema: Schema): View;
  acceptsNull(schema: Schema): boolean;
  /** Whether a schema states that null is valid, by its own keywords or by an alternative that is null. */
  statesNull(schema: Schema): boolean;
}

/** The schema objects that a value has to satisfy together. The same parts make the same `Schema` object. */
export class Schema {
  readonly parts: readonly SchemaPart[];
  /** The schemas whose parts these are. */
  readonly roots: readonly Located[];
  readonly located: Located;
  readonly #lookup: SchemaLookup;
  #view: View | undefined;

  constructor(parts: readonly SchemaPart[], roots: readonly Located[], located: Located, lookup: SchemaLookup) {
    this.parts = parts;
    this.roots = roots;
    this.located = located;
    this.#lookup = lookup;
  }

  get place(): ContractPlace {
    return this.located.place;
  }

  get view(): View {
    this.#view ??= this.#lookup.viewOf(this);
    return this.#view;
  }

  /** Whether null is valid. A schema without `type` that has keywords of one type does not accept null. */
  get acceptsNull(): boolean {
    return this.#lookup.acceptsNull(this);
  }

  /** The schema that remains once one alternative of each choice is taken. */
  withAlternatives(taken: readonly Located[]): Schema {
    const reduced = this.parts.map(({ located }) =>
      this.#lookup.without(located, ['oneOf', 'anyOf', 'allOf', 'discriminator']),
    );
    return this.#lookup.schemaOfAll([...reduced, ...taken]);
  }

  /** The schema of those values that have one type. `without`: keywords to leave out. */
  narrowedTo(type: JsonType, without: readonly string[]): Schema {
    const reduced = this.parts.map(({ located }) => this.#lookup.without(located, ['allOf', ...without]));
    return this.#lookup.schemaOfAll([...reduced, { value: schemaOfType[type], place: this.place }]);
  }

  /** The schema that a value of a discriminator's `mapping` refers to. */
  discriminatedSchema(target: Located): Schema | undefined {
    return this.#lookup.discriminatedSchema(target);
  }

  /** The subtypes of this schema. A schema that is no subtype has those of its part with the discriminator. */
  get subtypes(): ReadonlyMap<string, Located> {
    const [firstPart] = this.parts;
    return this.#lookup.subtypesOf(this.isSubtype ? firstPart?.map : this.#partWithDiscriminator?.map);
  }

  /** Whether the discriminator belongs to a schema that this one extends. Such a discriminator also maps other subtypes. */
  get isSubtype(): boolean {
    const [firstPart] = this.parts;
    if (firstPart === this.#partWithDiscriminator) return false;
    const siblings = [...this.#lookup.subtypesOf(this.#partWithDiscriminator?.map).values()];
    return siblings.some((sibling) => this.#lookup.schemaAt(sibling).parts[0] === firstPart);
  }

  get #partWithDiscriminator(): SchemaPart | undefined {
    return this.parts.find(({ map }) => map['discriminator'] !== undefined);
  }
}

/** Shared objects: schemas are compared by identity. */
const schemaOfType: Readonly<Record<JsonType, JsonMap>> = {
  boolean: { type: 'boolean' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  string: { type: 'string' },
  array: { type: 'array' },
  object: { type: 'object' },
};

/** A schema within another one, such as that of a property. Built when it is first read. Several locations mean `allOf`. */
export class SubschemaRef {
  readonly locations: readonly Located[];
  readonly #lookup: SchemaLookup;
  #schema: Schema | undefined;

  /** @param locations at least one location */
  constructor(locations: readonly Located[], lookup: SchemaLookup) {
    this.locations = locations;
    this.#lookup = lookup;
  }

  get at(): Located {
    const [first] = this.locations;
    if (first === undefined) throw new TypeError('a subschema without a location');
    return first;
  }

  get schema(): Schema {
    this.#schema ??=
      this.locations.length === 1 ? this.#lookup.schemaAt(this.at) : this.#lookup.schemaOfAll(this.locations);
    return this.#schema;
  }

  /** Whether `readOnly` or `writeOnly` is true. For most properties, the schema need not be built to find out. */
  has(keyword: 'readOnly' | 'writeOnly'): boolean {
    const { value } = this.at;
    if (this.locations.length === 1 && isMap(value) && !isComposed(value)) return value[keyword] === true;
    return this.schema.parts.some(({ map }) => map[keyword] === true);
  }
}

const composingKeywords = ['$ref', '$dynamicRef', 'allOf', 'oneOf', 'anyOf'] as const;

function isComposed(map: JsonMap): boolean {
  return composingKeywords.some((keyword) => map[keyword] !== undefined);
}
