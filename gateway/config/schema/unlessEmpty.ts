import { z } from 'zod';
import { Expanded } from '../expand.ts';

/** Whether this is `${NAME:-}` of a variable that nobody has set, or set to nothing. */
export function isEmptyVariable(input: unknown): boolean {
  return input instanceof Expanded && input.text === '';
}

/** A key that may be missing, and counts as missing when its variable is empty: one file, with and without it. */
export function unlessEmpty<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((input) => (isEmptyVariable(input) ? undefined : input), schema.optional()).optional();
}
