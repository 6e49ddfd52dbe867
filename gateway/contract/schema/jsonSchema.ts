import { isMap, type JsonMap } from '../../shared/json.ts';
import type { Documents } from '../document/documents.ts';
import { below, entriesOf, isList, itemsOf, type Located, refOf } from '../document/located.ts';
import { CompareError } from '../failure.ts';

const numberKeys = ['multipleOf', 'minimum', 'maximum'];
const countKeys = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
const containsCountKeys = ['minContains', 'maxContains'];
const schemaKeys = ['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'unevaluatedItems'];
const schemaMapKeys = ['properties', 'patternProperties', 'dependentSchemas'];
const typeNames: ReadonlySet<unknown> = new Set(['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']);

/**
 * The schemas of the responses of one contract as JSON Schema, for a validator. Keywords that a validator would reject are left
 * out, and so are `required` fields that only requests have (`writeOnly`). `oneOf` becomes `anyOf`, because a response is not
 * wrong if its value satisfies two alternatives. The alternatives of an `anyOf` are references, so that each can be validated
 * alone.
 */
export class JsonSchemas {
  /** The converted schemas, by name. A reference to one of them is `#/$defs/NAME`. Grows with each new schema. */
  readonly definitions: Record<string, unknown> = {};
  readonly #documents: Documents;
  /** Whether a schema `false`, such as that of `additionalProperties`, allows any value. Clients ignore fields that they do not know. */
  readonly #isOpen: boolean;
  /** Schema object of the contract → name of its definition. */
  readonly #names = new Map<unknown, string>();

  constructor(documents: Documents, { isOpen }: { readonly isOpen: boolean }) {
    this.#documents = documents;
    this.#isOpen = isOpen;
  }

  /** @returns the name of the definition of `located` */
  define(located: Located): string {
    const known = this.#names.get(located.value);
    if (known !== undefined) return known;
    const name = String(Object.keys(this.definitions).length);
    if (isMap(located.value)) this.#names.set(located.value, name);
    // Takes the name before the conversion, because the schema may contain itself.
    this.definitions[name] = true;
    this.definitions[name] = this.#convert(located);
    return name;
  }

  #reference(located: Located): string {
    return `#/$defs/${this.define(located)}`;
  }

  #convert(located: Located): unknown {
    const { value } = located;
    if (typeof value === 'boolean') return this.#isOpen || value;
    if (!isMap(value)) return true;
    const target = refOf(value) === undefined ? undefined : this.#targetOf(located);
    if (target !== undefined) {
      const keywordsBesideRef = this.#documents.isOpenApi30 ? {} : this.#convertKeywords(located, value);
      return { ...keywordsBesideRef, $ref: this.#reference(target) };
    }
    const converted = this.#convertKeywords(located, value);
    return value['nullable'] === true ? withNull(converted) : converted;
  }

  /** Undefined for a reference that is broken or refers to itself: any value is valid. */
  #targetOf(located: Located): Located | undefined {
    try {
      // `resolve` checks the chain of references: it throws if one of them is broken or circular.
      this.#documents.resolve(located);
      return this.#documents.follow(located);
    } catch (error) {
      if (error instanceof CompareError) return undefined;
      throw error;
    }
  }

  #convertKeywords(located: Located, map: JsonMap): Record<string, unknown> {
    const at = (keyword: string): Located => below(located, keyword);
    const into: Record<string, unknown> = {};
    const types = [map['type']].flat().filter((type) => typeNames.has(type));
    if (types.length > 0) into['type'] = [...new Set(types)];
    for (const keyword of numberKeys) if (Number.isFinite(map[keyword])) into[keyword] = map[keyword];
    for (const keyword of map['contains'] === undefined ? countKeys : [...countKeys, ...containsCountKeys]) {
      if (Number.isSafeInteger(map[keyword]) && Number(map[keyword]) >= 0) into[keyword] = map[keyword];
    }
    if (Number(into['multipleOf']) <= 0) delete into['multipleOf'];
    addExclusive(map, into);
    if (isList(map['enum']) && map['enum'].length > 0) into['enum'] = valuesWithNull(map['enum'], types);
    if (map['const'] !== undefined) into['const'] = map['const'];
    if (typeof map['format'] === 'string') into['format'] = map['format'];
    if (typeof map['pattern'] === 'string' && isPattern(map['pattern'])) into['pattern'] = map['pattern'];
    if (map['uniqueItems'] === true) into['uniqueItems'] = true;
    const required = this.#requiredInResponses(located, map);
    if (required.length > 0) into['required'] = required;
    for (const keyword of schemaKeys) if (map[keyword] !== undefined) into[keyword] = this.#convert(at(keyword));
    for (const keyword of schemaMapKeys)
      if (isMap(map[keyword])) into[keyword] = this.#convertMap(at(keyword), keyword);
    for (const keyword of ['additionalProperties', 'unevaluatedProperties']) {
      if (map[keyword] !== undefined && !(this.#isOpen && map[keyword] === false))
        into[keyword] = this.#convert(at(keyword));
    }
    this.#addItems(located, map, into);
    this.#addComposition(located, into);
    const dependent = entriesOf(at('dependentRequired')).filter(([, { value }]) => isList(value));
    if (dependent.length > 0)
      into['dependentRequired'] = ownEntries(dependent.map(([name, { value }]) => [name, distinctStrings(value)]));
    return into;
  }

  /** Before JSON Schema 2020-12, `items` may be a list, and `additionalItems` is the schema of further items. */
  #addItems(located: Located, map: JsonMap, into: Record<string, unknown>): void {
    const listKeyword = isList(map['prefixItems']) ? 'prefixItems' : isList(map['items']) ? 'items' : undefined;
    const furtherKeyword = listKeyword === 'items' ? 'additionalItems' : 'items';
    if (listKeyword !== undefined && itemsOf(below(located, listKeyword)).length > 0)
      into['prefixItems'] = itemsOf(below(located, listKeyword)).map((one) => this.#convert(one));
    if (map[furtherKeyword] !== undefined && !isList(map[furtherKeyword]))
      into['items'] = this.#convert(below(located, furtherKeyword));
  }

  #addComposition(located: Located, into: Record<string, unknown>): void {
    const allOf: unknown[] = itemsOf(below(located, 'allOf')).map((one) => this.#convert(one));
    for (const keyword of ['oneOf', 'anyOf'] as const) {
      const alternatives = itemsOf(below(located, keyword)).map((one) => ({ $ref: this.#reference(one) }));
      if (alternatives.length > 0) allOf.push({ anyOf: alternatives });
    }
    const discriminating = discriminatingProperty(located);
    if (discriminating !== undefined) allOf.push({ properties: discriminating });
    if (allOf.length > 0) into['allOf'] = allOf;
  }

  #convertMap(map: Located, keyword: string): Record<string, unknown> {
    const usable = entriesOf(map).filter(([name]) => keyword !== 'patternProperties' || isPattern(name));
    return ownEntries(usable.map(([name, schema]) => [name, this.#convert(schema)]));
  }

  #requiredInResponses(located: Located, map: JsonMap): string[] {
    const properties = below(located, 'properties');
    return distinctStrings(map['required']).filter((name) => {
      const property = below(properties, name);
      const target = refOf(property.value) === undefined ? property : this.#targetOf(property);
      return ![property, target].some((one) => isMap(one?.value) && one.value['writeOnly'] === true);
    });
  }
}

/**
 * The property by which clients choose an alternative, with an `enum` of the values that the discriminator allows: the keys of
 * its mapping, and the names of the schemas. Undefined: other values are allowed too, or there is no discriminator.
 */
function discriminatingProperty(located: Located): Record<string, unknown> | undefined {
  const { value: discriminator } = below(located, 'discriminator');
  const alternatives = ['oneOf', 'anyOf'].flatMap((keyword) => itemsOf(below(located, keyword)));
  const refs = alternatives.map(({ value }) => (isMap(value) ? refOf(value) : undefined));
  if (!isMap(discriminator) || refs.length === 0 || !refs.every((ref) => ref !== undefined)) return undefined;
  const { propertyName, mapping, defaultMapping } = discriminator;
  if (typeof propertyName !== 'string' || defaultMapping !== undefined) return undefined;
  const names = [...Object.keys(isMap(mapping) ? mapping : {}), ...refs.map((ref) => ref.split('/').at(-1))];
  return ownEntries([[propertyName, { enum: [...new Set(names)] }]]);
}

/** Adds null to what a schema accepts. */
function withNull(schema: Record<string, unknown>): unknown {
  const { type, enum: values, ...otherKeywords } = schema;
  const isComposed = ['allOf', 'not', 'if', 'const'].some((keyword) => otherKeywords[keyword] !== undefined);
  if (isComposed) return { if: { type: 'null' }, else: schema };
  return {
    ...otherKeywords,
    ...(isList(type) && { type: [...new Set([...type, 'null'])] }),
    ...(isList(values) && { enum: valuesWithNull(values, ['null']) }),
  };
}

/** Adds null if the types allow it: many contracts allow null by the type, and omit it from the `enum` by mistake. */
function valuesWithNull(values: readonly unknown[], types: readonly unknown[]): unknown[] {
  const distinct = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
  return types.includes('null') && !distinct.includes(null) ? [...distinct, null] : distinct;
}

/** In OpenAPI 3.0 the exclusive limits are `true` beside `minimum` and `maximum`; since 3.1 they are numbers. */
function addExclusive(map: JsonMap, into: Record<string, unknown>): void {
  for (const [exclusive, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (Number.isFinite(map[exclusive])) into[exclusive] = map[exclusive];
    if (map[exclusive] !== true || into[limit] === undefined) continue;
    into[exclusive] = into[limit];
    delete into[limit];
  }
}

/** A map with the entries as its own properties, even for a field with the name `__proto__`. */
function ownEntries(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(entries);
}

function distinctStrings(value: unknown): string[] {
  return isList(value) ? [...new Set(value.filter((one): one is string => typeof one === 'string'))] : [];
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}
