import { listOf, TooManyAlternatives } from '../../../contract/schema/alternatives.ts';
import { textFormats } from '../../../contract/schema/formats.ts';
import type { NamedSchemas, PlainSchema, SubSchema } from '../../../contract/schema/jsonSchema.ts';
import { branchesOf, listedValuesOf, propertiesOf, propertyOf, typesOf } from './branches.ts';

/** Key: a format. Value: the largest number of this format, and at most the largest that a double holds exactly. */
export const largestValueOf: Readonly<Record<string, number>> = { int32: 2 ** 31 - 1, int64: Number.MAX_SAFE_INTEGER };
const numberFormats: ReadonlySet<unknown> = new Set(['int32', 'int64', 'float', 'double', 'decimal', 'number']);

// Marks schemas of converted values for `withFormatsFrom`. Comparisons ignore keywords that begin with `x-`.
const convertedKeyword = 'x-converted';

export function markedForFormats(schema: SubSchema): SubSchema {
  return typeof schema === 'object' ? { ...schema, [convertedKeyword]: true } : schema;
}

/**
 * The schema with the formats of `expected`. A schema of constants, listed values or converted values gets a format if all its
 * values match it: otherwise a constant date would differ from the date that the contract describes. `named`: the schemas that
 * `expected` refers to.
 */
export function withFormatsFrom(schema: SubSchema, expected: SubSchema, named: NamedSchemas): SubSchema {
  if (typeof schema === 'boolean' || typeof expected === 'boolean') return schema;
  const targets = branchesOrNone(expected, named);
  // `findPart` returns the part of a target that describes the same values as `part`.
  const withFormatsOfPart = (part: SubSchema, findPart: (target: PlainSchema) => unknown): SubSchema =>
    targets.reduce((result: SubSchema, target) => {
      const targetPart = findPart(target);
      return typeof targetPart === 'object' && targetPart !== null
        ? withFormatsFrom(result, targetPart as PlainSchema, named)
        : result;
    }, part);
  const result: Record<string, unknown> = { ...schema };
  for (const key of ['anyOf', 'oneOf', 'allOf'])
    if (Array.isArray(schema[key]))
      result[key] = listOf(schema[key]).map((one) => withFormatsFrom(one, expected, named));
  const properties = Object.entries(propertiesOf(schema));
  if (properties.length > 0)
    result['properties'] = Object.fromEntries(
      properties.map(([name, one]) => [name, withFormatsOfPart(one, (target) => propertyOf(target, name))]),
    );
  for (const key of ['items', 'additionalProperties'])
    if (typeof schema[key] === 'object')
      result[key] = withFormatsOfPart(schema[key] as PlainSchema, (target) => target[key]);
  const format = schema['format'] ?? targets.map((target) => target['format']).find((one) => hasFormat(schema, one));
  return format === undefined ? result : { ...result, format };
}

function branchesOrNone(schema: PlainSchema, named: NamedSchemas): readonly PlainSchema[] {
  try {
    return branchesOf(schema, named);
  } catch (error) {
    if (error instanceof TooManyAlternatives) return [];
    throw error;
  }
}

/** Whether all values of a schema are known to match a format. This can only be known of listed values and of converted values. */
function hasFormat(schema: PlainSchema, format: unknown): boolean {
  if (typeof format !== 'string') return false;
  const largestValue = largestValueOf[format] ?? Number.POSITIVE_INFINITY;
  const isWithin = (value: unknown): boolean => typeof value === 'number' && Math.abs(value) <= largestValue;
  const values = listedValuesOf(schema)?.filter((value) => value !== null);
  if (values) {
    const matchesFormat = textFormats[format];
    return values.every((value) => (typeof value === 'string' ? (matchesFormat?.(value) ?? true) : isWithin(value)));
  }
  if (schema[convertedKeyword] !== true || !numberFormats.has(format)) return false;
  // A number format says nothing about a text, so a converted text matches it. A converted number needs limits only for int32.
  const isText = typesOf(schema)?.includes('string') ?? false;
  return isText || format !== 'int32' || (isWithin(schema['minimum']) && isWithin(schema['maximum']));
}
