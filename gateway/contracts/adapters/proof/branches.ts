import { alternativesOf, listOf } from '../../../contract/schema/alternatives.ts';
import type { NamedSchemas, PlainSchema, SubSchema } from '../../../contract/schema/jsonSchema.ts';
import { canonicalJson, isEqual } from '../../../contract/schema/keywords.ts';
import { membersOf } from '../../../shared/json.ts';

/**
 * The schema without `$ref`, `allOf`, `oneOf` and `anyOf`: one schema per alternative. A value is valid if it is valid for
 * one of them. A constraint that cannot be merged is left out, so the branches may allow more than the schema.
 * @throws TooManyAlternatives
 */
export function branchesOf(schema: SubSchema, named: NamedSchemas): readonly PlainSchema[] {
  return alternativesOf(schema, named, { of: (_schema, own) => own, both: merged });
}

export function propertiesOf(schema: PlainSchema): Readonly<Record<string, SubSchema>> {
  return membersOf(schema['properties']);
}

export function requiredOf(schema: PlainSchema): readonly string[] {
  return Array.isArray(schema['required']) ? schema['required'] : [];
}

/** The types that a branch allows, including `null`. Undefined: any type. */
export function typesOf(schema: PlainSchema): readonly string[] | undefined {
  const { type, properties, items } = schema;
  if (type !== undefined) return [type].flat().map(String);
  const values = listedValuesOf(schema);
  if (values) return [...new Set(values.map(jsonTypeOf))];
  if (
    properties !== undefined ||
    schema['required'] !== undefined ||
    typeof schema['additionalProperties'] === 'object'
  )
    return ['object'];
  return items === undefined && schema['prefixItems'] === undefined ? undefined : ['array'];
}

/** The type of a value, as `type` names it. */
export function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

/** The values of `enum` and `const`. */
export function listedValuesOf(schema: PlainSchema): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined;
}

export function hasType(schema: PlainSchema, type: string): boolean {
  return typesOf(schema)?.includes(type) ?? false;
}

/** The branch without null. Undefined: null is its only value. */
export function withoutNull(branch: PlainSchema): PlainSchema | undefined {
  const types = typesOf(branch);
  const values = listedValuesOf(branch)?.filter((value) => value !== null);
  if (values?.length === 0) return undefined;
  const otherTypes = types?.filter((type) => type !== 'null');
  if (otherTypes?.length === 0) return undefined;
  const { const: _const, ...otherKeywords } = branch;
  const narrowed = values ? { ...otherKeywords, enum: values } : branch;
  return otherTypes === undefined || branch['type'] === undefined
    ? narrowed
    : { ...narrowed, type: typeKeyword(otherTypes) };
}

export function allowsNull(branch: PlainSchema): boolean {
  return hasType(branch, 'null') && (listedValuesOf(branch)?.includes(null) ?? true);
}

/** The value of the keyword `type`: a single type is not a list. */
function typeKeyword(types: readonly string[]): string | readonly string[] {
  return types.length === 1 ? (types[0] ?? 'null') : types;
}

/** The schema of values that are valid for one of `branches`. Where possible, null is written as a type, as in `[string, 'null']`. */
export function unionOf(branches: readonly SubSchema[]): SubSchema {
  const distinctBranches = [...new Map(branches.map((branch) => [canonicalJson(branch), branch])).values()];
  const isNull = (branch: SubSchema): boolean => typeof branch === 'object' && isEqual(typesOf(branch), ['null']);
  const nonNull = distinctBranches.filter((branch) => branch !== false && !isNull(branch));
  const [only, ...more] = nonNull;
  const isNullable = distinctBranches.some(isNull);
  if (only === undefined) return isNullable ? { type: 'null' } : false;
  if (more.length > 0) return { anyOf: isNullable ? [...nonNull, { type: 'null' }] : nonNull };
  if (!isNullable || typeof only !== 'object') return only;
  const types = typesOf(only);
  if (types?.includes('null')) return only;
  if (types === undefined) return Object.keys(only).length === 0 ? only : { anyOf: [only, { type: 'null' }] };
  const { const: constant, ...otherKeywords } = only;
  const values = constant === undefined ? only['enum'] : [constant];
  return { ...otherKeywords, type: [...types, 'null'], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}

/** The schema of a constant. For an array or an object it also allows similar values. */
export function constantSchema(value: unknown): PlainSchema {
  if (Array.isArray(value)) {
    const items = unionOf(value.map(constantSchema));
    return { type: 'array', items, minItems: value.length, maxItems: value.length };
  }
  if (typeof value !== 'object' || value === null) return valuesSchema([value]);
  const properties = Object.fromEntries(Object.entries(value).map(([name, item]) => [name, constantSchema(item)]));
  return { type: 'object', properties, required: Object.keys(value) };
}

/** A schema that allows only these values. `values`: no arrays and no objects. */
export function valuesSchema(values: readonly unknown[]): PlainSchema {
  const distinct = [...new Set(values)];
  return { type: typeKeyword([...new Set(distinct.map(jsonTypeOf))]), enum: distinct };
}

/** Key: a keyword. Value: the function that returns the stricter of two limits. */
const stricterLimitOf: Readonly<Record<string, (limit: number, other: number) => number>> = {
  minimum: Math.max,
  exclusiveMinimum: Math.max,
  minLength: Math.max,
  minItems: Math.max,
  minProperties: Math.max,
  maximum: Math.min,
  exclusiveMaximum: Math.min,
  maxLength: Math.min,
  maxItems: Math.min,
  maxProperties: Math.min,
};

/** The schema of values that are valid for both schemas. Undefined: there are none. */
function merged(first: PlainSchema, second: PlainSchema): PlainSchema | undefined {
  if (Object.keys(first).length === 0) return second;
  const result: Record<string, unknown> = { ...first };
  for (const [key, value] of Object.entries(second)) {
    const firstValue = first[key];
    if (firstValue === undefined) result[key] = value;
    else if (!isEqual(firstValue, value)) {
      const mergedValue = mergedKeyword(key, firstValue, value);
      if (mergedValue === null) return undefined;
      if (mergedValue === undefined) delete result[key];
      else result[key] = mergedValue;
    }
  }
  // `additionalProperties` of one schema would also apply to the properties of the other. So it is left out if a schema has
  // properties without it.
  const hasOnlyProperties = ({ properties, additionalProperties }: PlainSchema): boolean =>
    properties !== undefined && additionalProperties === undefined;
  if ([first, second].some(hasOnlyProperties)) delete result['additionalProperties'];
  return result;
}

/** The value of a keyword that two schemas have. Null: no value is valid for both. Undefined: the values cannot be merged. */
function mergedKeyword(key: string, first: unknown, second: unknown): unknown {
  const stricterLimit = stricterLimitOf[key];
  if (stricterLimit && typeof first === 'number' && typeof second === 'number') return stricterLimit(first, second);
  if (key === 'type') {
    const [firstTypes, secondTypes] = [[first].flat(), [second].flat()];
    const sharedTypes = firstTypes.filter(
      (type) => secondTypes.includes(type) || (type === 'integer' && secondTypes.includes('number')),
    );
    if (firstTypes.includes('number') && secondTypes.includes('integer')) sharedTypes.push('integer');
    return sharedTypes.length === 0 ? null : typeKeyword([...new Set(sharedTypes)].map(String));
  }
  if (key === 'required') return [...new Set([...listOf(first), ...listOf(second)])];
  if (key === 'enum') {
    const sharedValues = listOf(first).filter((value) => listOf(second).some((other) => isEqual(value, other)));
    return sharedValues.length === 0 ? null : sharedValues;
  }
  if (key === 'const') return null;
  if (key === 'items' || key === 'additionalProperties') return { allOf: [first, second] };
  if (key !== 'properties') return undefined;
  const [firstProperties, secondProperties] = [
    propertiesOf({ properties: first }),
    propertiesOf({ properties: second }),
  ];
  const names = new Set([...Object.keys(firstProperties), ...Object.keys(secondProperties)]);
  return Object.fromEntries(
    [...names].map((name) => {
      const schemas = [firstProperties, secondProperties].flatMap((map) =>
        Object.hasOwn(map, name) ? [map[name] ?? true] : [],
      );
      return [name, schemas.length === 1 || isEqual(schemas[0], schemas[1]) ? schemas[0] : { allOf: schemas }];
    }),
  );
}

export function propertyOf(object: PlainSchema, name: string): SubSchema | undefined {
  const properties = propertiesOf(object);
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

export function withoutField(object: PlainSchema, name: string): PlainSchema | undefined {
  if (propertyOf(object, name) === undefined) return undefined;
  const { [name]: _dropped, ...properties } = propertiesOf(object);
  const required = requiredOf(object).filter((other) => other !== name);
  return { ...withoutConditions(object), properties, required };
}

export function withFieldSchema(object: PlainSchema, name: string, schema: SubSchema): PlainSchema {
  return { ...withoutConditions(object), properties: { ...propertiesOf(object), [name]: schema } };
}

export function withField(object: PlainSchema, name: string, schema: SubSchema, isRequired = true): PlainSchema {
  const otherRequired = requiredOf(object).filter((other) => other !== name);
  return { ...withFieldSchema(object, name, schema), required: isRequired ? [...otherRequired, name] : otherRequired };
}

/** The object after its field `name` was renamed. Undefined: the object has no such field. */
export function withRenamedField(object: PlainSchema, name: string, to: string): PlainSchema | undefined {
  const field = propertyOf(object, name);
  const remaining = withoutField(object, name);
  return field === undefined || remaining === undefined
    ? undefined
    : withField(remaining, to, field, requiredOf(object).includes(name));
}

/** Conditions may name a field that an operation changes. Without them the schema allows more values. */
function withoutConditions(object: PlainSchema): PlainSchema {
  const conditionKeywords =
    'if then else not dependentRequired dependentSchemas minProperties maxProperties propertyNames discriminator enum const';
  const removed = new Set(conditionKeywords.split(' '));
  return Object.fromEntries(Object.entries(object).filter(([key]) => !removed.has(key)));
}

/** `a string or null`, `an array` */
export function kindInWords(branches: readonly PlainSchema[]): string {
  const types = new Set(branches.flatMap((branch) => typesOf(branch) ?? ['value of any type']));
  const words = [...types].map((type) => (type === 'null' ? type : `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`));
  return words.join(' or ') || 'nothing';
}

/** Whether every valid value has the field at `keys`. */
export function isAlwaysPresent(schema: SubSchema, keys: readonly string[], named: NamedSchemas): boolean {
  const [key, ...rest] = keys;
  if (key === undefined) return true;
  return branchesOf(schema, named).every((branch) => {
    const isOnlyObject = typesOf(branch)?.every((type) => type === 'object') ?? false;
    const field = propertyOf(branch, key);
    const isRequired = isOnlyObject && field !== undefined && requiredOf(branch).includes(key);
    return isRequired && isAlwaysPresent(field, rest, named);
  });
}

/** Whether no valid value is an empty array. */
export function hasFirstItem(schema: SubSchema, named: NamedSchemas): boolean {
  return branchesOf(schema, named).every((branch) => !hasType(branch, 'array') || Number(branch['minItems'] ?? 0) > 0);
}
