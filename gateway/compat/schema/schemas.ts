import type { Documents } from '../document/documents.ts';
import { below, isList, isMap, itemsOf, type JsonMap, type Located, refOf } from '../document/located.ts';
import { CompareError } from '../failure.ts';
import { isDocs } from './canonical.ts';
import { Heirs } from './heirs.ts';
import { type Gathered, type Part, Schema } from './schema.ts';

const choices = ['oneOf', 'anyOf'] as const;

/** The schemas of one contract. */
export class Schemas {
  readonly heirs: Heirs;
  readonly #documents: Documents;
  readonly #byMap = new Map<unknown, Schema>();
  readonly #byParts = new Map<string | number, Schema>();
  readonly #parts = new Map<JsonMap, Part>();
  readonly #reduced = new Map<JsonMap, Map<string, JsonMap>>();

  constructor(documents: Documents) {
    this.#documents = documents;
    this.heirs = new Heirs(documents);
  }

  /** @throws CompareError for a `$ref` that leads nowhere */
  of(located: Located): Schema {
    const { value } = located;
    const known = isMap(value) ? this.#byMap.get(value) : undefined;
    if (known) return known;
    const schema = this.all([located]);
    if (isMap(value)) this.#byMap.set(value, schema);
    return schema;
  }

  /** By its name among the components, or by reference; undefined: there is none, which nobody but a reader minds. */
  named(target: Located): Schema | undefined {
    const { value, place } = target;
    if (isMap(value)) return this.of(target);
    if (typeof value !== 'string') return undefined;
    const $ref = /^[\w.-]+$/.test(value) ? `#/components/schemas/${value}` : value;
    try {
      return this.of({ value: { $ref }, place });
    } catch (error) {
      if (error instanceof CompareError) return undefined;
      throw error;
    }
  }

  /** What fulfils every one of them. */
  all(located: readonly Located[]): Schema {
    const gathered: Gathered = { parts: new Map(), besideNull: new Set() };
    for (const one of located) this.#gather(one, gathered, false);
    const [first, ...others] = gathered.parts.values();
    // What says nothing has only its place to be told by.
    if (!first) return new Schema(gathered, { value: {}, place: (located[0] ?? this.#documents.root).place }, this);
    const key = others.length === 0 ? first.id : keyOf([first, ...others]);
    const known = this.#byParts.get(key);
    if (known) return known;
    const schema = new Schema(gathered, first.located, this);
    this.#byParts.set(key, schema);
    return schema;
  }

  /** The alternatives that stand below `keyword`, but for a bare null. */
  alternatives(part: Part, keyword: (typeof choices)[number]): Located[] {
    const list = below(part.located, keyword);
    const own = itemsOf(list).filter((one) => !this.isNull(one));
    // A single one is a part of the schema.
    return own.length < 2 ? own : flattened(list, keyword).filter((one) => !this.isNull(one));
  }

  /** Whether nothing but null fulfils it. */
  isNull(located: Located): boolean {
    const { value } = this.#documents.resolve(located);
    if (!isMap(value)) return false;
    const { type, const: constant, enum: values } = value as { type?: unknown; const?: unknown; enum?: unknown };
    const isNullType = type === 'null' || (isList(type) && type.length === 1 && type[0] === 'null');
    return isNullType || constant === null || (isList(values) && values.length === 1 && values[0] === null);
  }

  /** The same schema object without some of its keywords. */
  without(located: Located, keywords: readonly string[]): Located {
    if (!isMap(located.value)) return located;
    const name = keywords.join(',');
    const known = this.#reduced.get(located.value) ?? new Map<string, JsonMap>();
    let reduced = known.get(name);
    if (!reduced) {
      reduced = Object.fromEntries(Object.entries(located.value).filter(([key]) => !keywords.includes(key)));
      this.#reduced.set(located.value, known.set(name, reduced));
    }
    return { value: reduced, place: located.place };
  }

  #gather(located: Located, into: Gathered, isBesideNull: boolean): void {
    let at = located;
    if (refOf(at.value) !== undefined) {
      const target = this.#documents.resolve(located);
      for (; at.value !== target.value; at = this.#documents.follow(at)) this.#gatherBeside(at, into, isBesideNull);
    }
    const { value } = at;
    if (value === false) this.#gather({ value: { not: {} }, place: at.place }, into, isBesideNull);
    if (!isMap(value) || into.parts.has(value)) return;
    this.#add(value, at, into, isBesideNull);
    if (value['allOf'] !== undefined) {
      for (const one of itemsOf(below(at, 'allOf'))) this.#gather(one, into, isBesideNull);
    }
    for (const keyword of choices) {
      const alternatives = value[keyword] === undefined ? [] : itemsOf(below(at, keyword));
      if (alternatives.length === 0 || alternatives.length > 2) continue;
      const [only, ...others] = alternatives.filter((one) => !this.isNull(one));
      if (only && others.length === 0) this.#gather(only, into, isBesideNull || alternatives.length > 1);
    }
  }

  /** What stands beside a `$ref`. */
  #gatherBeside(located: Located, into: Gathered, isBesideNull: boolean): void {
    if (this.#documents.isOpenApi30 || !isMap(located.value)) return;
    if (Object.keys(located.value).every((key) => key === '$ref' || key === '$dynamicRef' || isDocs(key))) return;
    this.#gather(this.without(located, ['$ref', '$dynamicRef']), into, isBesideNull);
  }

  #add(map: JsonMap, located: Located, { parts, besideNull }: Gathered, isBesideNull: boolean): void {
    let part = this.#parts.get(map);
    if (!part) {
      part = { map, located, id: this.#parts.size };
      this.#parts.set(map, part);
    }
    parts.set(map, part);
    if (isBesideNull) besideNull.add(map);
  }
}

/** A choice within a choice of the same kind, and nothing beside it, is one choice. */
export function flattened(list: Located, keyword: (typeof choices)[number]): Located[] {
  return itemsOf(list).flatMap((one) => {
    const isChoice = isMap(one.value) && isList(one.value[keyword]);
    const isAlone = isChoice && Object.keys(one.value).every((key) => key === keyword || isDocs(key));
    return isAlone ? flattened(below(one, keyword), keyword) : [one];
  });
}

function keyOf(parts: readonly Part[]): string {
  return parts
    .map(({ id }) => id)
    .sort((a, b) => a - b)
    .join(',');
}
