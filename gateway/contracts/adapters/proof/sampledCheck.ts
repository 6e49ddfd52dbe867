import type { JsonValue, Operation, OtherTypes } from '../../../config/adapterSettings.ts';
import type { NamedSchemas, PlainSchema } from '../../../contract/schema/jsonSchema.ts';
import type { SchemaValidator } from '../../../contract/schema/validator.ts';
import { typedValueOf } from '../serving/parameterTexts.ts';
import { AdaptationError, compileOperations } from '../serving/transform.ts';
import type { AdaptedPart } from './adaptedParts.ts';
import type { ParameterParts } from './parameters.ts';
import type { PlainPart } from './plainParts.ts';
import { SchemaSampler } from './schemaSampler.ts';

/**
 * Generates values of a part, runs the operations, and validates the results. Returns a message about the first result that is
 * not valid. The message contains no generated value.
 */
export function sampleFault(
  { what, from, operations, to, direction }: AdaptedPart,
  named: NamedSchemas,
  validators: { readonly from: SchemaValidator; readonly to: SchemaValidator },
  otherTypes: OtherTypes,
  sampleCount: number,
): string | undefined {
  if (to === undefined) return undefined;
  const adapt = compileOperations(operations, otherTypes);
  const converts = hasConversion(operations);
  const sampler = new SchemaSampler(named, { direction, seed: 1 });
  for (let count = 0; count < sampleCount; count += 1) {
    // The first two values are the smallest and the largest.
    const value = sampler.next(from, (['least', 'most'] as const)[count]);
    if (value === undefined || !validators.from.isValid(from, value)) continue;
    try {
      const adapted = adapt(value);
      // A conversion may return a number as an object (`JSON.rawJSON`), to keep its text. Writing it as JSON makes it a number.
      const result = converts ? (JSON.parse(JSON.stringify(adapted)) as JsonValue) : adapted;
      const fault = validators.to.faultOf(to, result);
      if (fault)
        return `A ${what} that the contract allows is not valid after the operations: ${fault.pointer || 'the body'} ${fault.message}.`;
    } catch (error) {
      if (!(error instanceof AdaptationError)) throw error;
      return `A ${what} that the contract allows cannot be adapted: ${error.message}.`;
    }
  }
  return undefined;
}

function hasConversion(operations: readonly Operation[]): boolean {
  return operations.some((one) => one.kind === 'convert' || (one.kind === 'each' && hasConversion(one.operations)));
}

interface HeadersToCheck {
  readonly own: ParameterParts;
  readonly other: ParameterParts;
  /** `other`: `/v2` */
  readonly names: { readonly other: string };
  readonly validators: { readonly own: SchemaValidator; readonly other: SchemaValidator };
  /** The number of generated values. */
  readonly sampleCount: number;
}

/**
 * Generates values of the headers or cookies of a request. Operations do not change them. Returns a message about the first value
 * that the other version would not accept. Lists and objects are not generated.
 */
export function headerSampleFault(
  { own, other, names, validators, sampleCount }: HeadersToCheck,
  where: 'header' | 'cookie',
): string | undefined {
  const [parts, otherParts] = [own, other].map(({ parameters }) =>
    [...parameters.values()].filter((part) => part['in'] === where),
  );
  const keyOf = ({ name }: PlainPart): string => (where === 'header' ? String(name).toLowerCase() : String(name));
  for (const part of parts ?? []) {
    const counterpart = otherParts?.find((one) => keyOf(one) === keyOf(part));
    const [schema, expected] = [part['schema'], counterpart?.['schema']] as (PlainSchema | undefined)[];
    if (schema === undefined || expected === undefined) continue;
    const sampler = new SchemaSampler(own.named, { direction: 'request', seed: 1 });
    for (let count = 0; count < sampleCount; count += 1) {
      const value = sampler.next(schema, (['least', 'most'] as const)[count]);
      if (value === undefined || typeof value === 'object' || !validators.own.isValid(schema, value)) continue;
      if (!isValidText(expected, String(value), validators.other))
        return `The ${where} ${part['name']} may have a value that the contract of ${names.other} does not allow.`;
    }
  }
  return undefined;
}

/** Whether one reading of a parameter is valid: as a text, a number or a boolean. `value`: its text, or a list of texts. */
export function isValidText(schema: PlainSchema | boolean, value: JsonValue, validator: SchemaValidator): boolean {
  const readings = (['text', 'number', 'boolean'] as const).map((type) => {
    const items = [value].flat().map((one) => (typeof one === 'string' ? typedValueOf(one, { type }) : one));
    return Array.isArray(value) ? items : (items[0] ?? null);
  });
  // A number whose text is kept is an object (`JSON.rawJSON`). Writing it as JSON and parsing the JSON makes it a number.
  return readings.some((reading) => validator.isValid(schema, JSON.parse(JSON.stringify(reading))));
}
