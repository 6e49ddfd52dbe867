import type { JsonValue, Operation } from '../config/adapterSettings.ts';
import type { NamedSchemas } from './branches.ts';
import type { Passage } from './passages.ts';
import { SchemaSampler } from './schemaSampler.ts';
import { AdaptationError, compileOperations } from './transform.ts';
import type { SchemaValidator } from './validator.ts';

/**
 * Generates values of a passage, runs the operations, and validates the results. Returns a message about the first result that is
 * not valid. The message contains no generated value.
 */
export function sampleFault(
  { what, from, operations, to, direction }: Passage,
  named: NamedSchemas,
  validators: { readonly from: SchemaValidator; readonly to: SchemaValidator },
  sampleCount: number,
): string | undefined {
  if (to === undefined) return undefined;
  const adapt = compileOperations(operations);
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
