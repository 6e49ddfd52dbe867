import type { RegExpEngine } from 'ajv/dist/types/index.js';

/**
 * The regular expression of a `pattern`. JSON Schema asks for the flag `u`, and many patterns, such as `^[\w-.]+$`, are only valid
 * without it. Undefined: the pattern is not valid with or without the flag.
 */
export function regExpOf(pattern: string): RegExp | undefined {
  for (const flags of ['u', ''])
    try {
      return new RegExp(pattern, flags);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
  return undefined;
}

/** For ajv, which would refuse a whole schema for one pattern that is not valid. Such a pattern matches all texts. */
export const schemaRegExp: RegExpEngine = Object.assign((pattern: string) => regExpOf(pattern) ?? /(?:)/, {
  code: 'regExp',
});
