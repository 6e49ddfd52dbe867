import { z } from 'zod';
import { Expanded } from '../expand.ts';

/** A map with these keys and no others. One whose keys are all commented out is an empty map, not nothing. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess(nothingIsEmpty, z.strictObject(shape));
}

// Not so for a key that is missing: it may have to be there.
function nothingIsEmpty(input: unknown): unknown {
  const value = plain(input);
  return value === null ? {} : value;
}

/** A variable is an object only to us: nobody can write a map in one. */
export function plain(input: unknown): unknown {
  return input instanceof Expanded ? input.value : input;
}
