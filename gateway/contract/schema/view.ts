import { isMap } from '../../shared/json.ts';
import { below, entriesOf, isList, itemsOf, type Located } from '../document/located.ts';
import { choicesOf, enumValuesOf } from './choices.ts';
import {
  applicableKeywords,
  canonicalJson,
  isDocs,
  type JsonType,
  type Keywords,
  keywordsOf,
  withoutNoopKeywords,
} from './keywords.ts';
import { limitsOf } from './limits.ts';
import {
  type Choice,
  type Condition,
  type Conditions,
  type Schema,
  type SchemaLookup,
  SubschemaRef,
  type View,
} from './schema.ts';

// Shared instances, because most schemas have none of these.
const emptyMap: ReadonlyMap<string, never> = new Map<string, never>();
const noChoices: readonly Choice[] = [];

export function viewOf(schema: Schema, lookup: SchemaLookup): View {
  const allKeywords = keywordsOf(schema.parts);
  const effectiveKeywords = withoutNoopKeywords(allKeywords);
  const keywords = effectiveKeywords.has('type')
    ? applicableKeywords(effectiveKeywords, typesOf(effectiveKeywords, undefined))
    : effectiveKeywords;
  const choices = keywords.has('oneOf') || keywords.has('anyOf') ? choicesOf(schema, lookup) : noChoices;
  const valuesOfChoices = choices.map(enumValuesOf);
  const enumValues = enumOf(
    keywords,
    valuesOfChoices.filter((list) => list !== undefined),
  );
  return {
    types: typesOf(keywords, enumValues),
    nullable: lookup.statesNull(schema),
    enumOmitsNull: enumOmitsNull(schema),
    rejectsAll: keywords.get('not')?.some(isTrueSchema) ?? false,
    enumValues,
    limits: limitsOf(schema.parts, keywords),
    properties: propertiesOf(keywords, lookup),
    required: requiredOf(keywords),
    additional: subschema(keywords.get('additionalProperties') ?? keywords.get('unevaluatedProperties'), lookup),
    ...itemsOfArray(keywords, lookup),
    choices: choices.filter((_choice, index) => valuesOfChoices[index] === undefined),
    conditions: conditionsOf(keywords, schema.parts, lookup),
    at: (keyword) => keywords.get(keyword)?.[0],
  };
}

const jsonTypes: ReadonlySet<unknown> = new Set(['boolean', 'integer', 'number', 'string', 'array', 'object']);

// Keywords that imply a type if `type` is missing. Contracts converted from Swagger often omit `type: object`.
const keywordsByImpliedType: readonly [JsonType, readonly string[]][] = [
  ['object', ['properties', 'additionalProperties', 'required', 'patternProperties', 'minProperties', 'maxProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems']],
];

/** The types that a schema accepts. `values`: its `enum`. Undefined: any type. */
function typesOf(keywords: Keywords, values: ReadonlyMap<string, Located> | undefined): Set<JsonType> | undefined {
  const typeKeywords = keywords.get('type')?.filter(({ value }) => value !== null);
  if (typeKeywords !== undefined && typeKeywords.length > 0) {
    return typeKeywords.map(({ value }) => statedTypes(value)).reduce(intersection);
  }
  if (values) return new Set([...values.values()].flatMap(({ value }) => typesOfValue(value)));
  for (const [type, names] of keywordsByImpliedType) {
    if (names.some((keyword) => keywords.has(keyword))) return new Set([type]);
  }
  return undefined;
}

/** Whether a part allows null by `nullable` or `type`, and omits it from its `enum` or `const`. */
function enumOmitsNull({ parts }: Schema): boolean {
  return parts.some(({ map }) => (map['nullable'] === true || includesNull(map['type'])) && omitsNull(map));
}

function includesNull(type: unknown): boolean {
  return type === 'null' || (isList(type) && type.includes('null'));
}

function omitsNull({ enum: values, const: constant }: { readonly enum?: unknown; readonly const?: unknown }): boolean {
  return (isList(values) && !values.includes(null)) || (constant !== undefined && constant !== null);
}

function statedTypes(type: unknown): Set<JsonType> {
  const names = isList(type) ? type : [type];
  return new Set(names.filter((name): name is JsonType => jsonTypes.has(name)));
}

function intersection(a: Set<JsonType>, b: Set<JsonType>): Set<JsonType> {
  const common = new Set([...a].filter((type) => b.has(type) || (type === 'integer' && b.has('number'))));
  if (a.has('number') && b.has('integer')) common.add('integer').delete('number');
  return common;
}

/** One type, or none for null. */
function typesOfValue(value: unknown): JsonType[] {
  if (isList(value)) return ['array'];
  if (isMap(value)) return ['object'];
  if (typeof value === 'number') return [Number.isInteger(value) ? 'integer' : 'number'];
  return typeof value === 'string' ? ['string'] : typeof value === 'boolean' ? ['boolean'] : [];
}

function subschema(located: readonly Located[] | undefined, lookup: SchemaLookup): SubschemaRef | undefined {
  return located && new SubschemaRef(located, lookup);
}

function isTrueSchema({ value }: Located): boolean {
  return value === true || (isMap(value) && Object.keys(value).length === 0);
}

function propertiesOf(keywords: Keywords, lookup: SchemaLookup): ReadonlyMap<string, SubschemaRef> {
  const maps = keywords.get('properties');
  if (maps === undefined) return emptyMap;
  const [first] = maps;
  if (maps.length === 1 && first) {
    const fields = new Map<string, SubschemaRef>();
    for (const [name, schema] of entriesOf(first)) fields.set(name, new SubschemaRef([schema], lookup));
    return fields;
  }
  const schemasByName = new Map<string, Located[]>();
  for (const [name, schema] of maps.flatMap(entriesOf)) {
    const sameName = schemasByName.get(name);
    if (sameName) sameName.push(schema);
    else schemasByName.set(name, [schema]);
  }
  return new Map([...schemasByName].map(([name, located]) => [name, new SubschemaRef(located, lookup)]));
}

function requiredOf(keywords: Keywords): ReadonlyMap<string, Located> {
  const lists = keywords.get('required');
  if (lists === undefined) return emptyMap;
  const required = new Map<string, Located>();
  for (const name of lists.flatMap(itemsOf)) if (typeof name.value === 'string') required.set(name.value, name);
  return required;
}

/** The values that all `enum`s, `const`s and choices between constants (`chosen`) have in common. */
function enumOf(keywords: Keywords, chosen: readonly (readonly Located[])[]): ReadonlyMap<string, Located> | undefined {
  const enums = (keywords.get('enum') ?? []).filter(({ value }) => isList(value)).map(itemsOf);
  const lists = [...enums, ...(keywords.get('const') ?? []).map((constant) => [constant]), ...chosen];
  if (lists.length === 0) return undefined;
  const maps = lists.map((list) => new Map(list.map((item) => [canonicalJson(item.value), item] as const)));
  const [first = emptyMap, ...others] = maps;
  return new Map([...first].filter(([text]) => text !== 'null' && others.every((other) => other.has(text))));
}

/** Before JSON Schema 2020-12, `items` may be a list (now `prefixItems`), and `additionalItems` is today's `items`. */
function itemsOfArray(keywords: Keywords, lookup: SchemaLookup): Pick<View, 'items' | 'prefixItems'> {
  const items = keywords.get('items') ?? [];
  const [list] = [...(keywords.get('prefixItems') ?? []), ...items].filter(({ value }) => isList(value));
  const singleSchemas = items.filter(({ value }) => !isList(value));
  const furtherItems =
    singleSchemas.length > 0
      ? singleSchemas
      : ((list && keywords.get('additionalItems')) ?? keywords.get('unevaluatedItems'));
  const prefixItems = list ? itemsOf(list).map((at) => new SubschemaRef([at], lookup)) : [];
  return { items: subschema(furtherItems, lookup), prefixItems };
}

const schemaConditions = ['propertyNames', 'contentSchema'] as const;
const schemaMapConditions = ['dependentSchemas', 'patternProperties'] as const;
const conditionKeywords: ReadonlySet<string> = new Set([
  ...schemaConditions,
  ...schemaMapConditions,
  'contains',
  'not',
  'if',
  'dependentRequired',
]);

function conditionsOf(
  keywords: Keywords,
  parts: readonly { readonly located: Located }[],
  lookup: SchemaLookup,
): Conditions {
  if (![...keywords.keys()].some((keyword) => conditionKeywords.has(keyword))) return emptyMap;
  const conditions = new Map<string, Condition>();
  const add = (name: string, at: Located, isNegated = false): void => {
    if (at.value === undefined) return;
    // Several parts with the same condition apply together.
    const earlier = conditions.get(name)?.ref.locations ?? [];
    conditions.set(name, { ref: new SubschemaRef([...earlier, at], lookup), isNegated });
  };
  for (const keyword of schemaConditions) for (const at of keywords.get(keyword) ?? []) add(keyword, at);
  // With `maxContains`, a narrower `contains` may accept more arrays, as with `not`.
  const isNegated = keywords.has('maxContains');
  // An array may satisfy several `contains` with a different item for each.
  const contains = new Map(keywords.get('contains')?.map((at) => [canonicalJson(at.value), at]));
  for (const [text, at] of contains) add(contains.size === 1 ? 'contains' : `contains (${text})`, at, isNegated);
  const dependentRequired = (keywords.get('dependentRequired') ?? []).flatMap(entriesOf);
  for (const keyword of schemaMapConditions) {
    for (const [name, at] of (keywords.get(keyword) ?? []).flatMap(entriesOf)) {
      if (keyword === 'dependentSchemas' && hasOnlyRequired(at)) dependentRequired.push([name, below(at, 'required')]);
      else add(`${keyword}/${name}`, at);
    }
  }
  for (const [index, at] of (keywords.get('not') ?? []).entries()) {
    if (isMap(at.value) && Object.keys(at.value).length > 0) add(`not/${index}`, at, true);
  }
  for (const { located } of parts) {
    const condition = below(located, 'if');
    if (condition.value === undefined) continue;
    add(`then (${canonicalJson(condition.value)})`, below(located, 'then'));
    add(`else (${canonicalJson(condition.value)})`, below(located, 'else'));
  }
  for (const [name, list] of dependentRequired) {
    for (const { value, place } of itemsOf(list)) {
      add(`dependentRequired/${name}/${String(value)}`, { value: { required: [value] }, place });
    }
  }
  return conditions;
}

/** A `dependentSchemas` entry with `required` alone is a `dependentRequired`. */
function hasOnlyRequired({ value }: Located): boolean {
  return isMap(value) && Object.keys(value).every((key) => key === 'required' || isDocs(key));
}
