/** The first schema of `deepSchemas`. */
export const deepRef = { $ref: '#/components/schemas/Level0' };

interface Chain {
  /** How a schema refers to the next one. */
  readonly refer?: (next: object) => object;
  readonly steps?: number;
}

/** A chain of schemas. By default, following it overflows the stack. */
export function deepSchemas({ refer = (next) => ({ allOf: [next] }), steps = 20_000 }: Chain = {}): object {
  const schemas = Array.from({ length: steps }, (_one, step) => [
    `Level${step}`,
    refer({ $ref: `#/components/schemas/Level${step + 1}` }),
  ]);
  return { ...Object.fromEntries(schemas), [`Level${steps}`]: {} };
}
