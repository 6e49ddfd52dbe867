import { isList, isMap, type Located } from '../document/located.ts';
import type { Sayings } from './held.ts';
import type { Schema } from './schema.ts';
import type { Schemas } from './schemas.ts';

/** JSON's types, with those numbers apart that are whole; null is told apart from all of them. */
export type JsonType = 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

const types: ReadonlySet<unknown> = new Set(['boolean', 'integer', 'number', 'string', 'array', 'object']);

// What a schema is about that does not say so. Swagger's heirs leave `type: object` out more often than not.
const telling: readonly [JsonType, readonly string[]][] = [
  ['object', ['properties', 'additionalProperties', 'required', 'patternProperties', 'minProperties', 'maxProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems']],
];

/** Undefined: any. */
export function typesOf(said: Sayings, values: ReadonlyMap<string, Located> | undefined): Set<JsonType> | undefined {
  const stated = said.get('type')?.filter(({ value }) => value !== null);
  if (stated !== undefined && stated.length > 0) {
    return stated.map(({ value }) => statedTypes(value)).reduce(intersection);
  }
  if (values) return new Set([...values.values()].flatMap(({ value }) => typeOf(value)));
  for (const [type, keywords] of telling) {
    if (keywords.some((keyword) => said.has(keyword))) return new Set([type]);
  }
  return undefined;
}

/**
 * Whether null fulfils the schema. OpenAPI 3.0 says `nullable`, the later ones `type: [string, 'null']`. An `enum` has
 * to list null as well: since 3.1 that is plain, while many contracts of 3.0 leave it out and mean it.
 */
export function isNullable(schema: Schema, schemas: Schemas): boolean {
  const own = schema.parts.filter(({ map }) => !schema.besideNull.has(map));
  const answers = own.map(({ map, located }) => {
    const { type, enum: values, nullable } = map as { type?: unknown; enum?: unknown; nullable?: unknown };
    if (nullable === true) return 'yes';
    if (saysNull(type)) return lacksNull(map) ? 'no' : 'yes';
    if (type !== undefined) return 'no';
    if (isList(values)) return values.includes(null) ? 'yes' : 'no';
    if (map['const'] !== undefined) return map['const'] === null ? 'yes' : 'no';
    return hasNullAlternative(located, schemas) ? 'yes' : 'silent';
  });
  // `nullable` beside an `allOf` of one `$ref` is how 3.0 says that the reference may be null.
  return answers[0] === 'yes' || (answers.includes('yes') && !answers.includes('no'));
}

/** Whether a part says that null is let through, and lists values without it. */
export function isNullUnlisted({ parts }: Schema): boolean {
  return parts.some(({ map }) => (map['nullable'] === true || saysNull(map['type'])) && lacksNull(map));
}

function saysNull(type: unknown): boolean {
  return type === 'null' || (isList(type) && type.includes('null'));
}

function lacksNull({ enum: values, const: constant }: { readonly enum?: unknown; readonly const?: unknown }): boolean {
  return (isList(values) && !values.includes(null)) || (constant !== undefined && constant !== null);
}

/** Whether everything that is one of `these` is one of `those`; undefined: any. */
export function isWithin(these: ReadonlySet<JsonType> | undefined, those: ReadonlySet<JsonType> | undefined): boolean {
  if (those === undefined) return true;
  if (these === undefined) return false;
  return [...these].every((type) => those.has(type) || (type === 'integer' && those.has('number')));
}

function hasNullAlternative({ value, place }: Located, schemas: Schemas): boolean {
  if (!isMap(value)) return false;
  const lists = [value['oneOf'], value['anyOf']].filter(isList);
  return lists.some((list) =>
    list.some((one) => schemas.isNull({ value: one, place }) || hasNullWithin({ value: one, place }, schemas)),
  );
}

/** A choice within a choice, which is one with it. */
function hasNullWithin(one: Located, schemas: Schemas): boolean {
  return isMap(one.value) && one.value['$ref'] === undefined && hasNullAlternative(one, schemas);
}

function statedTypes(type: unknown): Set<JsonType> {
  const names = isList(type) ? type : [type];
  return new Set(names.filter((name): name is JsonType => types.has(name)));
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
