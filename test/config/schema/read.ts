import type { z } from 'zod';

/** The value of `input`, or the predicate of its refusal: `refused: has no unit`. */
export function read(schema: z.ZodType, input: unknown): unknown {
  const result = schema.safeParse(input);
  return result.success ? result.data : `refused: ${result.error.issues[0]?.message}`;
}
