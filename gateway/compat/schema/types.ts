import { isList, isMap, type Located } from '../document/located.ts';
import type { JsonType, Keywords } from './keywords.ts';
import type { Schema, SchemaLookup } from './schema.ts';

const jsonTypes: ReadonlySet<unknown> = new Set(['boolean', 'integer', 'number', 'string', 'array', 'object']);

// Keywords that imply a type where `type` is missing. Contracts converted from Swagger often omit `type: object`.
const implied: readonly [JsonType, readonly string[]][] = [
  ['object', ['properties', 'additionalProperties', 'required', 'patternProperties', 'minProperties', 'maxProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems']],
];

/** The types that a schema accepts. `values`: its `enum`. Undefined: any type. */
export function typesOf(
  keywords: Keywords,
  values: ReadonlyMap<string, Located> | undefined,
): Set<JsonType> | undefined {
  const stated = keywords.get('type')?.filter(({ value }) => value !== null);
  if (stated !== undefined && stated.length > 0) {
    return stated.map(({ value }) => statedTypes(value)).reduce(intersection);
  }
  if (values) return new Set([...values.values()].flatMap(({ value }) => typeOf(value)));
  for (const [type, names] of implied) {
    if (names.some((keyword) => keywords.has(keyword))) return new Set([type]);
  }
  return undefined;
}

/**
 * Whether the schema accepts null: `nullable` in OpenAPI 3.0, `type: [string, 'null']` since 3.1. An `enum` has to list
 * null as well. Many contracts of 3.0 omit it there and still mean it: see `isNullUnlisted`.
 */
export function isNullable(schema: Schema, lookup: SchemaLookup): boolean {
  const own = schema.parts.filter(({ map }) => !schema.besideNull.has(map));
  const answers = own.map(({ map, located }) => {
    const { type, enum: values, nullable } = map as { type?: unknown; enum?: unknown; nullable?: unknown };
    if (nullable === true) return 'yes';
    if (includesNull(type)) return omitsNull(map) ? 'no' : 'yes';
    if (type !== undefined) return 'no';
    if (isList(values)) return values.includes(null) ? 'yes' : 'no';
    if (map['const'] !== undefined) return map['const'] === null ? 'yes' : 'no';
    return hasNullAlternative(located, lookup) ? 'yes' : 'silent';
  });
  // `nullable` beside an `allOf` of one `$ref` is how OpenAPI 3.0 makes a reference nullable.
  return answers[0] === 'yes' || (answers.includes('yes') && !answers.includes('no'));
}

/** Whether a part allows null by `nullable` or `type`, and omits it from its `enum` or `const`. */
export function isNullUnlisted({ parts }: Schema): boolean {
  return parts.some(({ map }) => (map['nullable'] === true || includesNull(map['type'])) && omitsNull(map));
}

function includesNull(type: unknown): boolean {
  return type === 'null' || (isList(type) && type.includes('null'));
}

function omitsNull({ enum: values, const: constant }: { readonly enum?: unknown; readonly const?: unknown }): boolean {
  return (isList(values) && !values.includes(null)) || (constant !== undefined && constant !== null);
}

/** Whether every value of the types `inner` has a type of `outer`. Undefined: any type. */
export function isWithin(inner: ReadonlySet<JsonType> | undefined, outer: ReadonlySet<JsonType> | undefined): boolean {
  if (outer === undefined) return true;
  if (inner === undefined) return false;
  return [...inner].every((type) => outer.has(type) || (type === 'integer' && outer.has('number')));
}

function hasNullAlternative({ value, place }: Located, lookup: SchemaLookup): boolean {
  if (!isMap(value)) return false;
  const lists = [value['oneOf'], value['anyOf']].filter(isList);
  return lists.some((list) =>
    list.some((one) => lookup.isNull({ value: one, place }) || hasNullInNestedChoice({ value: one, place }, lookup)),
  );
}

/** A choice directly within a choice counts as one choice with it. */
function hasNullInNestedChoice(one: Located, lookup: SchemaLookup): boolean {
  return isMap(one.value) && one.value['$ref'] === undefined && hasNullAlternative(one, lookup);
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

function typeOf(value: unknown): JsonType[] {
  if (isList(value)) return ['array'];
  if (isMap(value)) return ['object'];
  if (typeof value === 'number') return [Number.isInteger(value) ? 'integer' : 'number'];
  return typeof value === 'string' ? ['string'] : typeof value === 'boolean' ? ['boolean'] : [];
}
