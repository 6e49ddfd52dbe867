import type { conversions, JsonValue } from '../../../config/adapterSettings.ts';
import { TooManyAlternatives } from '../../../contract/schema/alternatives.ts';
import type { NamedSchemas, PlainSchema, SubSchema } from '../../../contract/schema/jsonSchema.ts';
import { isEqual } from '../../../contract/schema/keywords.ts';
import { firstOf } from '../../../shared/text.ts';
import { comparableName, similarity } from '../../compat/judge/findings.ts';
import { branchesOf, listedValuesOf, propertiesOf, typesOf, withoutNull } from '../proof/branches.ts';
import { decimalOf, fixedDecimal } from '../serving/conversions.ts';
import { mapKey } from '../serving/transform.ts';

/**
 * `certain`: follows from the contracts. `guess`: probable, and used. `undecided`: would lose or invent data, so a person has to
 * choose it.
 */
export type Certainty = 'certain' | 'guess' | 'undecided';

/** The alternatives of a schema without null. Empty: there are none, or too many to be followed. */
export function draftAlternatives(schema: SubSchema, named: NamedSchemas): PlainSchema[] {
  try {
    return branchesOf(schema, named)
      .map(withoutNull)
      .filter((branch) => branch !== undefined);
  } catch (error) {
    if (error instanceof TooManyAlternatives) return [];
    throw error;
  }
}

export function isObject(branch: PlainSchema): boolean {
  return typesOf(branch)?.join() === 'object';
}

/**
 * How one value could become another. `same`: it is of the same kind. `convertible`: by a conversion. Undefined: not at all.
 * An object is of the same kind if half of its fields have the same names.
 */
export type Likeness = 'same' | 'convertible' | undefined;

/** Compares the kinds of two values. Recursive schemas are followed for a few levels only. */
export function likenessOf(from: SubSchema, to: SubSchema, named: NamedSchemasPair, depth = 0): Likeness {
  const [source, ...otherSources] = draftAlternatives(from, named.from);
  const [target, ...otherTargets] = draftAlternatives(to, named.to);
  if (!source || !target || otherSources.length > 0 || otherTargets.length > 0) return undefined;
  const [types, wantedTypes] = [typesOf(source), typesOf(target)];
  if (types?.length !== 1 || wantedTypes?.length !== 1 || depth > 4) return undefined;
  const [type, wantedType] = [types[0], wantedTypes[0]];
  if (type === 'object' || wantedType === 'object')
    return type === wantedType ? objectLikeness(source, target) : undefined;
  const [items, wantedItems] = [source, target].map((one) => one['items'] as SubSchema | undefined);
  if (type === 'array' && wantedType === 'array')
    return items === undefined || wantedItems === undefined
      ? 'convertible'
      : likenessOf(items, wantedItems, named, depth + 1);
  if (type === 'array' || wantedType === 'array') {
    // An array may become its first item, and a single value may become an array of one item.
    const [sourcePart, targetPart] = type === 'array' ? [items, target] : [source, wantedItems];
    if (sourcePart === undefined || targetPart === undefined) return undefined;
    return likenessOf(sourcePart, targetPart, named, depth + 1) && 'convertible';
  }
  const isSame = type === wantedType && source['format'] === target['format'] && shareOfValues(source, target) > 0;
  return isSame ? 'same' : 'convertible';
}

/** The named schemas of the sending and of the receiving contract. */
export interface NamedSchemasPair {
  readonly from: NamedSchemas;
  readonly to: NamedSchemas;
}

function objectLikeness(source: PlainSchema, target: PlainSchema): Likeness {
  const [sourceNames, targetNames] = [source, target].map((one) => Object.keys(propertiesOf(one)));
  const sharedCount = sourceNames?.filter((name) => targetNames?.includes(name)).length ?? 0;
  const largerCount = Math.max(sourceNames?.length ?? 0, targetNames?.length ?? 0);
  if (largerCount === 0) return 'same';
  return sharedCount / largerCount >= 0.5 ? 'same' : sharedCount > 0 ? 'convertible' : undefined;
}

/** The share of the source's listed values that the target also lists. 1 if neither side lists values; 0 if only one side does. */
function shareOfValues(source: PlainSchema, target: PlainSchema): number {
  const [sourceValues, targetValues] = [listedValuesOf(source), listedValuesOf(target)];
  if (!sourceValues && !targetValues) return 1;
  return sourceValues && targetValues
    ? sourceValues.filter((value) => targetValues.includes(value)).length / sourceValues.length
    : 0;
}

/** A conversion of a draft. */
export interface DraftedConversion {
  readonly to: (typeof conversions)[number];
  readonly digits: number;
  readonly certainty: Certainty;
  readonly note: string;
}

/** The conversion of a value that is no object, no array and no listed value. Undefined: none is needed, or none is known. */
export function conversionFor(source: PlainSchema, target: PlainSchema): DraftedConversion | undefined {
  const [types, wantedTypes] = [typesOf(source), typesOf(target)];
  const [type] = types ?? [];
  if (!types || !wantedTypes || type === undefined) return undefined;
  const conversionTo = (to: DraftedConversion['to'], note = '', digits = 0): DraftedConversion => ({
    to,
    digits,
    certainty: note === '' ? 'certain' : 'guess',
    note,
  });
  const areTypesAccepted = types.every(
    (one) => wantedTypes.includes(one) || (one === 'integer' && wantedTypes.includes('number')),
  );
  const [format, wantedFormat] = [source['format'], target['format']];
  if (areTypesAccepted) {
    if (type !== 'string' || format === wantedFormat) return undefined;
    if (format === 'date-time' && wantedFormat === 'date') return conversionTo('date');
    return format === 'date' && wantedFormat === 'date-time'
      ? conversionTo('date_time', 'a date becomes midnight in UTC')
      : undefined;
  }
  if (types.length > 1 || wantedTypes.length > 1) return undefined;
  const isNumber = type === 'number' || type === 'integer';
  switch (wantedTypes[0]) {
    case 'string':
      if (isNumber && wantedFormat === 'date') return conversionTo('date', 'if the number is seconds since 1970');
      if (isNumber && wantedFormat === 'date-time')
        return conversionTo('date_time', 'if the number is seconds since 1970');
      return isNumber
        ? numberTextConversion(source, target, conversionTo)
        : type === 'boolean'
          ? conversionTo('string')
          : undefined;
    case 'integer':
    case 'number':
      if (type === 'string' && (format === 'date' || format === 'date-time'))
        return conversionTo('epoch_seconds', 'if the number is seconds since 1970');
      return type === 'string' || isNumber ? conversionTo(wantedTypes[0]) : undefined;
    case 'boolean':
      return type === 'string' ? conversionTo('boolean') : undefined;
    default:
      return undefined;
  }
}

/** The conversion of a number to a text that the receiving contract accepts, by its pattern or its example. */
function numberTextConversion(
  source: PlainSchema,
  target: PlainSchema,
  conversionTo: (to: DraftedConversion['to'], note?: string, digits?: number) => DraftedConversion,
): DraftedConversion {
  const { pattern, example } = target;
  const isWhole = typesOf(source)?.join() === 'integer';
  // Without limits, 1 and 12 stand for numbers of one and of two digits.
  const limitTexts = [source['minimum'] ?? 1, source['maximum'] ?? 12].map(String);
  const sampleTexts = [...limitTexts, isWhole ? '7' : '12.5'];
  const expression = typeof pattern === 'string' ? expressionOf(pattern) : undefined;
  if (!expression) {
    const decimals = typeof example === 'string' && !isWhole ? decimalOf(example)?.fraction.length : undefined;
    if (decimals === undefined) return conversionTo('string');
    return conversionTo('decimal_string', `${decimals} decimals, as in the example of the contract`, decimals);
  }
  if (sampleTexts.every((text) => expression.test(text))) return conversionTo('string');
  // 0 decimals come last, because they lose the most.
  for (const decimals of [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]) {
    const isMatch = limitTexts.every((text) => {
      const decimal = decimalOf(text);
      return decimal !== undefined && expression.test(fixedDecimal(decimal, decimals));
    });
    if (isMatch) return conversionTo('decimal_string', '', decimals);
  }
  return conversionTo('string');
}

function expressionOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return undefined;
  }
}

/** The values of an operation `map` in a draft. */
export interface DraftedMapping {
  readonly values: ReadonlyMap<string, JsonValue>;
  readonly certainty: Certainty;
  readonly note: string;
}

/** Stands for a value that a person has to choose. */
export const unknownValue = '…';
/** Key: a text in lower case. Value: the boolean that the text stands for. */
const booleanOf: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'yes', 'y', 'on', '1'].map((text) => [text, true] as const),
  ...['false', 'no', 'n', 'off', '0'].map((text) => [text, false] as const),
]);

/**
 * Pairs the values that two contracts list. Undefined: the values need no map, or a contract lists none. Values with the same
 * letters are certain pairs. Pairs of the remaining values are guesses.
 */
export function mappingFor(source: PlainSchema, target: PlainSchema): DraftedMapping | undefined {
  const [values, wantedValues] = [source, target].map(listedValues);
  if (!values || !wantedValues || values.every((value) => wantedValues.some((one) => isEqual(value, one))))
    return undefined;
  const pairs = new Map<string, JsonValue>();
  const unpaired = values.filter((value) => {
    const equalValues = wantedValues.filter((one) => isEqual(one, value));
    const alikeValues = equalValues.length > 0 ? equalValues : wantedValues.filter((one) => isAlike(value, one));
    if (alikeValues.length !== 1) return true;
    pairs.set(keyOf(value), alikeValues[0] as JsonValue);
    return false;
  });
  const used = new Set(pairs.values());
  const unpairedWanted = wantedValues.filter((value) => !used.has(value as JsonValue)) as JsonValue[];
  const valuesInOrder = (): ReadonlyMap<string, JsonValue> =>
    new Map(values.map((value) => [keyOf(value), pairs.get(keyOf(value)) ?? unknownValue]));
  if (unpaired.length === 0) return { values: valuesInOrder(), certainty: 'certain', note: '' };
  const words = `${valuesInWords(unpaired)} → ${valuesInWords(unpairedWanted)}`;
  if (unpaired.length === unpairedWanted.length) {
    for (const [index, value] of unpaired.entries()) pairs.set(keyOf(value), unpairedWanted[index] as JsonValue);
    const why = unpaired.length === 1 ? 'the only values left' : 'in the order of the contracts';
    return { values: valuesInOrder(), certainty: 'guess', note: `${words}, ${why}` };
  }
  const choices = unpairedWanted.length > 0 ? unpairedWanted : (wantedValues as JsonValue[]);
  return {
    values: valuesInOrder(),
    certainty: 'undecided',
    note: `${unknownValue} is one of ${valuesInWords(choices)}`,
  };
}

const maxListedValues = 12;

/** The first values of a list, for a note. */
export function valuesInWords(values: readonly unknown[]): string {
  return firstOf(values, maxListedValues, keyOf);
}

/** The values of an `enum` or of a boolean. Without null, because null is not mapped. */
function listedValues(branch: PlainSchema): readonly unknown[] | undefined {
  const values = listedValuesOf(branch) ?? (typesOf(branch)?.join() === 'boolean' ? [true, false] : undefined);
  const areScalars = values?.every((value) => typeof value !== 'object' || value === null) ?? false;
  return areScalars ? values?.filter((value) => value !== null) : undefined;
}

function keyOf(value: unknown): string {
  return mapKey(value as JsonValue) ?? JSON.stringify(value);
}

function isAlike(value: unknown, target: unknown): boolean {
  const [valueKey, targetKey] = [keyOf(value), keyOf(target)];
  const [valueLetters, targetLetters] = [comparableName(valueKey).letters, comparableName(targetKey).letters];
  if (valueLetters !== '' && valueLetters === targetLetters) return true;
  const [valueBoolean, targetBoolean] = [booleanOf.get(valueKey.toLowerCase()), booleanOf.get(targetKey.toLowerCase())];
  return (
    valueBoolean !== undefined &&
    valueBoolean === targetBoolean &&
    (typeof value === 'boolean' || typeof target === 'boolean')
  );
}

/** 0 to 1; 1: the same letters, in any case and with any punctuation. */
export function likenessOfNames(name: string, other: string): number {
  return similarity(comparableName(name), comparableName(other));
}

// `created_at` and `updated_at` have 0.63, `color` and `colour` 0.67.
const leastLikeness = 0.65;

/** Whether two names are similar, or one contains the other, as `firstName` contains `first`. */
export function isSimilar(name: string, other: string): boolean {
  const plainNames = [comparableName(name).letters, comparableName(other).letters];
  const [short = '', long = ''] = plainNames.sort((a, b) => a.length - b.length);
  return (short.length > 2 && long.includes(short)) || likenessOfNames(name, other) >= leastLikeness;
}

/** The default or the first example of a schema, from the first of its alternatives that has one. */
export function annotationOf(
  schema: SubSchema,
  named: NamedSchemas,
  keyword: 'default' | 'example',
): JsonValue | undefined {
  for (const branch of draftAlternatives(schema, named)) {
    if (Object.hasOwn(branch, keyword)) return branch[keyword] as JsonValue;
    const [first] = keyword === 'example' && Array.isArray(branch['examples']) ? branch['examples'] : [];
    if (first !== undefined) return first as JsonValue;
  }
  return undefined;
}

/** `string`, `date-time`, `array` */
export function kindOf(schema: SubSchema, named: NamedSchemas): string {
  const [branch] = draftAlternatives(schema, named);
  const kind = branch && (branch['format'] ?? typesOf(branch)?.join(' or '));
  return typeof kind === 'string' ? kind : 'value';
}
