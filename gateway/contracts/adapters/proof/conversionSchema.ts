import type { JsonValue, Operation } from '../../../config/adapterSettings.ts';
import { listOf } from '../../../contract/schema/alternatives.ts';
import type { PlainSchema, SubSchema } from '../../../contract/schema/jsonSchema.ts';
import { conversionOf, decimalOf } from '../serving/conversions.ts';
import { mapKey, mapsOnlyNull } from '../serving/transform.ts';
import { jsonTypeOf, kindInWords, listedValuesOf, propertiesOf, typesOf, valuesSchema } from './branches.ts';
import { limitsLength, sampleTextsFor } from './patternTexts.ts';
import { fromEntries } from './plainParts.ts';

/** Reports a problem. Returns `true`, the schema of any value. */
export type ReportProblem = (message: string, remedy: string, options?: { readonly isWarning: boolean }) => true;

type Conversion = Extract<Operation, { kind: 'convert' }>;

const numberKeywords = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const;
// The years 0 to 9999, in seconds since 1970.
const firstSecond = -62_167_219_200;
const lastSecond = 253_402_300_799;
const dateFormats: ReadonlySet<unknown> = new Set(['date', 'date-time']);

/**
 * The schema of the values of a branch after a conversion. A branch is one alternative of a schema. `branch` does not allow
 * null.
 */
export function convertedSchema(branch: PlainSchema, conversion: Conversion, report: ReportProblem): SubSchema {
  const { to } = conversion;
  const types = typesOf(branch);
  if (types === undefined)
    return report('The contract does not name the type of the value.', 'Add a type to the contract.');
  const values = listedValuesOf(branch);
  if (values) return convertedValues(values, conversion, report);
  // `number` includes `integer`.
  const [type = '', ...otherTypes] = types.filter((one) => one !== 'integer' || !types.includes('number'));
  if (otherTypes.length > 0) {
    const schemas = types.map((one) => convertedSchema({ ...branch, type: one }, conversion, report));
    return { anyOf: schemas };
  }
  if (type === 'array' || type === 'object')
    return report(
      `${type === 'array' ? 'An array' : 'An object'} cannot be converted to ${to}.`,
      'Name another field.',
    );
  if (type === 'boolean') {
    if (to === 'string') return { type: 'string', enum: ['true', 'false'] };
    return to === 'boolean' ? branch : unconvertible('A boolean', to, report);
  }
  return type === 'string'
    ? convertedText(branch, conversion, report)
    : convertedNumber(branch, type, conversion, report);
}

function convertedValues(values: readonly unknown[], { to, digits }: Conversion, report: ReportProblem): SubSchema {
  const results = values.map((value) => conversionOf[to](value as JsonValue, digits));
  const index = results.indexOf(undefined);
  if (index === -1) return valuesSchema(results);
  return report(`The value ${JSON.stringify(values[index])} of the contract cannot be converted to ${to}.`, 'Use map.');
}

function unconvertible(what: string, to: string, report: ReportProblem): true {
  return report(`${what} cannot be converted to ${to}.`, 'Correct the conversion, or use map.');
}

function convertedNumber(branch: PlainSchema, type: string, conversion: Conversion, report: ReportProblem): SubSchema {
  const { to, digits } = conversion;
  const limits = Object.fromEntries(
    numberKeywords.flatMap((key) => (branch[key] === undefined ? [] : [[key, branch[key]]])),
  );
  const step = decimalOf(String(branch['multipleOf'] ?? ''));
  // Undefined: the branch does not limit its decimals.
  const maxDecimals = type === 'integer' ? 0 : step?.fraction.replace(/0+$/, '').length;
  switch (to) {
    case 'number':
      return type === 'number' ? branch : { ...limits, type: 'integer' };
    case 'integer':
      if (maxDecimals === 0) return { ...limits, type };
      return report(
        'The number may have decimals.',
        'Use a conversion that keeps them, or limit them by multipleOf in the contract.',
      );
    case 'string':
      return maxDecimals === 0
        ? { type: 'string', pattern: integerPattern, ...maxLengthOf(branch, 0) }
        : { type: 'string', pattern: decimalPattern };
    case 'decimal_string':
      if (maxDecimals === undefined) {
        const remedy = `Add multipleOf: ${digits === 0 ? 1 : `0.${'1'.padStart(digits, '0')}`} to the contract if the number never has more.`;
        report(`The number may have more than ${digits} decimals. They are rounded.`, remedy, { isWarning: true });
      } else if (maxDecimals > digits) {
        return report(
          `The number has up to ${maxDecimals} decimals, and ${digits} are kept.`,
          `Write decimal_string(${maxDecimals}), or mark the route as gone, with the reason.`,
        );
      }
      return { ...decimalTextSchema(digits), ...maxLengthOf(branch, digits) };
    case 'date':
    case 'date_time': {
      const [least, most] = rangeOfBranch(branch);
      if (least >= firstSecond && most <= lastSecond)
        return { type: 'string', ...(to === 'date' ? { format: 'date', maxLength: 10 } : { format: 'date-time' }) };
      const message = 'The number may be outside the years 0 to 9999, which cannot be written as a date.';
      const remedy = `Add minimum and maximum to the contract, from ${firstSecond} to ${lastSecond} at most.`;
      return report(message, remedy);
    }
    default:
      return unconvertible('A number', to, report);
  }
}

/** The least and the largest number of a branch. Infinite without a limit. */
function rangeOfBranch({
  minimum,
  exclusiveMinimum,
  maximum,
  exclusiveMaximum,
}: PlainSchema): [least: number, most: number] {
  const limitOf = (keywords: readonly unknown[], strictest: (...limits: number[]) => number): number =>
    strictest(...keywords.filter((limit) => typeof limit === 'number'));
  return [limitOf([minimum, exclusiveMinimum], Math.max), limitOf([maximum, exclusiveMaximum], Math.min)];
}

const integerPattern = '^-?(0|[1-9][0-9]*)$';
const decimalPattern = '^-?(0|[1-9][0-9]*)(\\.[0-9]+)?$';

/** The `maxLength` for the numbers of a branch, written with `decimals` decimals. Empty: the text may be of any length. */
function maxLengthOf(branch: PlainSchema, decimals: number): { readonly maxLength?: number } {
  const range = rangeOfBranch(branch);
  if (!range.every((limit) => Math.abs(limit) < 1e15)) return {};
  // Rounded up to a whole number: 9.999 with two decimals is written as 10.00.
  const wholeLengths = range.map((limit) => String(Math.ceil(Math.abs(limit))).length + (limit < 0 ? 1 : 0));
  return { maxLength: Math.max(...wholeLengths) + (decimals === 0 ? 0 : decimals + 1) };
}

function decimalTextSchema(digits: number): PlainSchema {
  return { type: 'string', pattern: `^-?(0|[1-9][0-9]*)${digits === 0 ? '' : `\\.[0-9]{${digits}}`}$` };
}

function convertedText(branch: PlainSchema, conversion: Conversion, report: ReportProblem): SubSchema {
  const { to, digits } = conversion;
  const { format, pattern } = branch;
  if (to === 'string') return branch;
  const isDate = to === 'date' || to === 'date_time' || to === 'epoch_seconds';
  if (isDate && dateFormats.has(format)) return textResult(conversion, {});
  const texts = typeof pattern === 'string' ? sampleTextsFor(pattern) : undefined;
  if (texts === undefined) {
    const needed = isDate ? 'format: date-time or date' : 'a pattern';
    const message = `The contract allows texts that cannot be converted to ${to}.`;
    return report(message, `Add ${needed} to the contract, list the values as an enum, or mark the route as gone.`);
  }
  const unconvertibleText = texts.find((text) => conversionOf[to](text, digits) === undefined);
  if (unconvertibleText !== undefined) {
    const message = `The contract allows ${JSON.stringify(unconvertibleText)}, which cannot be converted to ${to}.`;
    return report(message, 'Correct the pattern in the contract, or the conversion.');
  }
  const maxDecimals = Math.max(0, ...texts.map((text) => decimalOf(text)?.fraction.length ?? 0));
  if (to === 'decimal_string' && maxDecimals > digits)
    return report(
      `The text has up to ${maxDecimals} decimals, and ${digits} are kept.`,
      `Write decimal_string(${maxDecimals}).`,
    );
  // Without a limit of the length, texts may be longer than all samples.
  return textResult(conversion, limitsLength(String(pattern)) ? rangeOfTexts(texts) : {});
}

/** The schema of the values that texts are converted to. `range`: the limits of the numbers; empty if there are none. */
function textResult({ to, digits }: Conversion, range: PlainSchema): SubSchema {
  if (to === 'decimal_string') return decimalTextSchema(digits);
  if (to === 'boolean') return { type: to };
  if (to === 'number' || to === 'integer') return { ...range, type: to };
  if (to === 'epoch_seconds') return { type: 'integer' };
  return { type: 'string', format: to === 'date' ? 'date' : 'date-time' };
}

/** The limits of the numbers in sample texts of a pattern. If one sample is negative, any of the numbers may be negative. */
function rangeOfTexts(texts: readonly string[]): PlainSchema {
  const numbers = texts.map(Number);
  const maximum = Math.max(...numbers.map(Math.abs));
  return { minimum: numbers.some((number) => number < 0) ? -maximum : Math.min(...numbers), maximum };
}

/**
 * The schema of the first item of an array. `isNeverEmpty`: the contract requires an item. A field whose array is empty is left out,
 * but a body, or an item of `each`, cannot be left out.
 */
export function firstItemSchema(
  branch: PlainSchema,
  { at }: Operation,
  isNeverEmpty: boolean,
  report: ReportProblem,
): SubSchema {
  if (typesOf(branch)?.join() !== 'array')
    return report(
      `The operation head needs an array, and this is ${kindInWords([branch])}.`,
      'Remove head, or name another field.',
    );
  const isFieldNamed = at.length > 0;
  if (!isFieldNamed && !isNeverEmpty)
    return report('The array may be empty, and then there is no value.', 'Mark the route as gone, with the reason.');
  const [first] = listOf(branch['prefixItems']);
  return first ?? (branch['items'] as SubSchema | undefined) ?? true;
}

/** The schema of an array or a map after `changeItem` has changed the schema of its items. */
export function eachSchema(
  branch: PlainSchema,
  changeItem: (schema: SubSchema) => SubSchema,
  report: ReportProblem,
): SubSchema {
  const [type, ...otherTypes] = typesOf(branch) ?? [];
  if (type === 'array' && otherTypes.length === 0) {
    const { items = true, prefixItems, contains: _contains, ...otherKeywords } = branch;
    const tuple = prefixItems === undefined ? {} : { prefixItems: listOf(prefixItems).map(changeItem) };
    return { ...otherKeywords, ...tuple, items: items === false ? false : changeItem(items as SubSchema) };
  }
  if (type !== 'object' || otherTypes.length > 0)
    return report(
      `The operation each needs an array or a map, and this is ${kindInWords([branch])}.`,
      'Remove each, or name another field.',
    );
  const names = Object.keys(propertiesOf(branch));
  const { additionalProperties, patternProperties } = branch;
  const isOpenMap = typeof additionalProperties === 'object' && additionalProperties !== null;
  const isPatternMap = patternProperties !== undefined && additionalProperties === false;
  if (names.length > 0 || !(isOpenMap || isPatternMap)) {
    const pointers = names.slice(0, 5).map((name) => `/${name}`);
    return report(
      'The operation each needs an array or a map, and this object has named fields.',
      `Name its fields instead: ${pointers.join(', ') || 'there are none'}.`,
    );
  }
  const patterns = Object.entries((patternProperties ?? {}) as Readonly<Record<string, SubSchema>>);
  const changedPatterns = fromEntries(patterns.map(([pattern, schema]) => [pattern, changeItem(schema)]));
  return {
    ...branch,
    ...(isOpenMap ? { additionalProperties: changeItem(additionalProperties as PlainSchema) } : {}),
    ...(patterns.length > 0 ? { patternProperties: changedPatterns } : {}),
  };
}

/** The schema of the values of a branch after a `map`. The branch does not allow null. */
export function mappedSchema(
  branch: PlainSchema,
  operation: Extract<Operation, { kind: 'map' }>,
  report: ReportProblem,
): SubSchema {
  if (mapsOnlyNull(operation)) return branch;
  const { values } = operation;
  const types = typesOf(branch);
  const listedValues = listedValuesOf(branch) ?? (types?.join() === 'boolean' ? [true, false] : undefined);
  if (types === undefined || types.some((type) => type === 'object' || type === 'array'))
    return report(
      `The operation map needs single values, and this is ${kindInWords([branch])}.`,
      'Name another field.',
    );
  if (listedValues === undefined) {
    const remedy = 'List the values in the contract as an enum, or remove map.';
    const message = 'The contract does not list the values. A value that map does not name cannot be adapted.';
    report(message, remedy, { isWarning: true });
    return valuesSchema([...values].flatMap(([key, value]) => (key === 'null' ? [] : [value])));
  }
  // An array or object in an `enum` has no key. The message about it then names its type.
  const keys = listedValues.map((value) => mapKey(value as JsonValue) ?? jsonTypeOf(value));
  const unmapped = keys.filter((key) => !values.has(key));
  if (unmapped.length > 0) {
    const message = `The contract has ${unmapped.length === 1 ? 'the value' : 'the values'} ${unmapped.join(', ')}, which map does not name.`;
    return report(message, `Add ${unmapped.map((key) => `${key}: …`).join(', ')}.`);
  }
  const unused = [...values.keys()].filter((key) => key !== 'null' && !keys.includes(key));
  if (unused.length > 0)
    report(`map names ${unused.join(', ')}, which the contract does not have.`, 'Correct the map, or remove them.', {
      isWarning: true,
    });
  return valuesSchema(keys.map((key) => values.get(key)));
}
