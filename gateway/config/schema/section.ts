import { z } from 'zod';

/** A map with these keys and no others. One whose keys are all commented out is an empty map, not nothing. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess((input) => (input === null ? {} : input), z.strictObject(shape));
}
