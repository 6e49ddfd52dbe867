import { isMap, type JsonMap } from '../../shared/json.ts';
import type { Documents } from '../document/documents.ts';
import { below, entriesOf, isList, itemsOf, type Located, refOf } from '../document/located.ts';
import { CompareError } from '../failure.ts';
import { isDocs } from './keywords.ts';
import { NullReader } from './nulls.ts';
import { type Choice, Schema, type SchemaLookup, type SchemaPart, type View } from './schema.ts';
import { viewOf } from './view.ts';

const choiceKeywords = ['oneOf', 'anyOf'] as const;

/** The parts of a schema while they are collected. */
type CollectedParts = Map<JsonMap, SchemaPart>;

/** The schemas of one contract. Each is built once, when it is first needed. */
export class Schemas implements SchemaLookup {
  readonly #documents: Documents;
  readonly #subtypes: DiscriminatorSubtypes;
  readonly #nulls = new NullReader(this, { readsAlternatives: true });
  readonly #ownNulls = new NullReader(this, { readsAlternatives: false });
  /** Schema object → schema. */
  readonly #byMap = new Map<unknown, Schema>();
  /** Ids of all parts → schema. */
  readonly #byParts = new Map<string | number, Schema>();
  readonly #parts = new Map<JsonMap, SchemaPart>();
  /** Schema object → keywords left out → the object without them. */
  readonly #reduced = new Map<JsonMap, Map<string, JsonMap>>();

  constructor(documents: Documents) {
    this.#documents = documents;
    this.#subtypes = new DiscriminatorSubtypes(documents);
  }

  schemaAt(located: Located): Schema {
    const { value } = located;
    const known = isMap(value) ? this.#byMap.get(value) : undefined;
    if (known) return known;
    const schema = this.schemaOfAll([located]);
    if (isMap(value)) this.#byMap.set(value, schema);
    return schema;
  }

  schemaOfAll(located: readonly Located[]): Schema {
    const collected: CollectedParts = new Map();
    for (const one of located) this.#collect(one, collected);
    const parts = [...collected.values()];
    const [first, ...others] = parts;
    // Without parts there is no key to look up.
    if (!first) {
      const { place } = located[0] ?? this.#documents.root;
      return new Schema(parts, located, { value: {}, place }, this);
    }
    const key = others.length === 0 ? first.id : keyOf(parts);
    const known = this.#byParts.get(key);
    if (known) return known;
    const schema = new Schema(parts, located, first.located, this);
    this.#byParts.set(key, schema);
    return schema;
  }

  discriminatedSchema(target: Located): Schema | undefined {
    const { value, place } = target;
    if (isMap(value)) return this.schemaAt(target);
    if (typeof value !== 'string') return undefined;
    // `cat.yaml` may be the name of a component or a file.
    const refs = /^[\w.-]+$/.test(value) ? [`#/components/schemas/${value}`, value] : [value];
    for (const $ref of refs) {
      try {
        return this.schemaAt({ value: { $ref }, place });
      } catch (error) {
        if (!(error instanceof CompareError)) throw error;
      }
    }
    return undefined;
  }

  without(located: Located, keywords: readonly string[]): Located {
    const { value } = located;
    // Each result is kept and used again: a new copy would be a new schema, and expanding a recursive schema would never end.
    if (!isMap(value) || !keywords.some((keyword) => value[keyword] !== undefined)) return located;
    const leftOut = keywords.join(',');
    const reducedByKeywords = this.#reduced.get(value) ?? new Map<string, JsonMap>();
    let reduced = reducedByKeywords.get(leftOut);
    if (!reduced) {
      reduced = Object.fromEntries(Object.entries(value).filter(([key]) => !keywords.includes(key)));
      this.#reduced.set(value, reducedByKeywords.set(leftOut, reduced));
    }
    return { value: reduced, place: located.place };
  }

  alternatives(part: SchemaPart, keyword: Choice['keyword']): Located[] {
    const list = below(part.located, keyword);
    const isCompared = (one: Located): boolean => !this.isNull(one) && !this.rejectsAll(one);
    const alternatives = itemsOf(list).filter(isCompared);
    // `#collect` merges a single alternative into the schema.
    return alternatives.length < 2 ? alternatives : flattened(list, keyword).filter(isCompared);
  }

  isNull(located: Located): boolean {
    const { value } = this.#documents.resolve(located);
    if (!isMap(value)) return false;
    const { type, const: constant, enum: values } = value as { type?: unknown; const?: unknown; enum?: unknown };
    const isNullType = type === 'null' || (isList(type) && type.length === 1 && type[0] === 'null');
    return isNullType || constant === null || (isList(values) && values.length === 1 && values[0] === null);
  }

  rejectsAll(located: Located): boolean {
    const { value } = this.#documents.resolve(located);
    if (!isMap(value)) return value === false;
    const { not } = value as { not?: unknown };
    return not === true || (isMap(not) && Object.keys(not).length === 0);
  }

  subtypesOf(parent: unknown): ReadonlyMap<string, Located> {
    return this.#subtypes.subtypesOf(parent);
  }

  viewOf(schema: Schema): View {
    return viewOf(schema, this);
  }

  applied(located: Located): Located[] {
    const target = this.#documents.resolve(located);
    const applied: Located[] = [];
    for (let at = located; at.value !== target.value; at = this.#documents.follow(at)) {
      // Keywords beside a `$ref` have an effect since OpenAPI 3.1.
      if (this.#documents.isOpenApi30 || !isMap(at.value)) continue;
      if (Object.keys(at.value).every((key) => key === '$ref' || key === '$dynamicRef' || isDocs(key))) continue;
      applied.push(this.without(at, ['$ref', '$dynamicRef']));
    }
    return [...applied, target];
  }

  acceptsNull({ roots, view }: Schema): boolean {
    const answer = this.#nulls.ofAll(roots);
    return answer === 'yes' || (answer === 'silent' && view.types === undefined);
  }

  statesNull({ roots }: Schema): boolean {
    return this.#ownNulls.ofAll(roots) === 'yes';
  }

  /** Adds the schema object at `located`, and those that apply together with it: by `$ref`, `allOf`, or a choice of one. */
  #collect(located: Located, into: CollectedParts): void {
    const at = this.applied(located).reduce((earlier, next) => {
      this.#collect(earlier, into);
      return next;
    });
    const { value } = at;
    if (value === false) this.#collect({ value: { not: {} }, place: at.place }, into);
    if (!isMap(value) || into.has(value)) return;
    let part = this.#parts.get(value);
    if (!part) {
      part = { map: value, located: at, id: this.#parts.size };
      this.#parts.set(value, part);
    }
    into.set(value, part);
    for (const one of itemsOf(below(at, 'allOf'))) this.#collect(one, into);
    for (const keyword of choiceKeywords) {
      const items = value[keyword] === undefined ? [] : itemsOf(below(at, keyword));
      const possible = items.filter((one) => !this.rejectsAll(one));
      const notNull = possible.filter((one) => !this.isNull(one));
      if (notNull.length > 1) continue;
      // If all other alternatives are null, a value that is not null must satisfy this one, as in `allOf`. If no alternative allows a
      // value other than null, the first one that allows null is merged. If there is none, the first item is.
      const one = notNull[0] ?? possible[0] ?? items[0];
      if (one) this.#collect(one, into);
    }
  }
}

/** The alternatives of a choice. An alternative that is itself a choice of the same kind is replaced by its own alternatives. */
function flattened(list: Located, keyword: Choice['keyword']): Located[] {
  return itemsOf(list).flatMap((one) => {
    const isChoice = isMap(one.value) && isList(one.value[keyword]);
    const hasOnlyChoice = isChoice && Object.keys(one.value).every((key) => key === keyword || isDocs(key));
    return hasOnlyChoice ? flattened(below(one, keyword), keyword) : [one];
  });
}

function keyOf(parts: readonly SchemaPart[]): string {
  return parts
    .map(({ id }) => id)
    .sort((a, b) => a - b)
    .join(',');
}

/**
 * The named schemas that extend another one by `allOf`. They are the implicit alternatives of a base schema with a
 * discriminator, and the name of each is its value of the discriminator.
 */
class DiscriminatorSubtypes {
  readonly #documents: Documents;
  /** Schema object → the schemas that extend it directly. */
  #direct: Map<unknown, Located[]> | undefined;

  constructor(documents: Documents) {
    this.#documents = documents;
  }

  /** The direct and indirect subtypes of `parent`, by name. `parent`: one of the named schemas. */
  subtypesOf(parent: unknown): ReadonlyMap<string, Located> {
    this.#direct ??= this.#findDirect();
    const subtypes = new Map<string, Located>();
    const waiting = [...(this.#direct.get(parent) ?? [])];
    for (let subtype = waiting.pop(); subtype !== undefined; subtype = waiting.pop()) {
      if (subtypes.has(subtype.place.key) || subtype.value === parent) continue;
      subtypes.set(subtype.place.key, subtype);
      waiting.push(...(this.#direct.get(this.#target(subtype)?.value) ?? []));
    }
    return subtypes;
  }

  #findDirect(): Map<unknown, Located[]> {
    const direct = new Map<unknown, Located[]>();
    for (const [, named] of entriesOf(below(below(this.#documents.root, 'components'), 'schemas'))) {
      const subtype = this.#target(named);
      for (const one of subtype ? itemsOf(below(subtype, 'allOf')) : []) {
        const parent = refOf(one.value) === undefined ? undefined : this.#target(one);
        if (parent) direct.set(parent.value, [...(direct.get(parent.value) ?? []), named]);
      }
    }
    return direct;
  }

  /** Undefined for a broken `$ref`. The comparison reports the error when it follows this `$ref`. */
  #target(located: Located): Located | undefined {
    try {
      return this.#documents.resolve(located);
    } catch (error) {
      if (error instanceof CompareError) return undefined;
      throw error;
    }
  }
}
