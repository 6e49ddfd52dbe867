import type { Sayings } from './held.ts';
import type { JsonType } from './jsonTypes.ts';

const numeric = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'];
const textual = ['minLength', 'maxLength', 'pattern', 'contentEncoding', 'contentMediaType'];
const ofArrays = ['minItems', 'maxItems', 'uniqueItems', 'items', 'prefixItems', 'contains'];
const ofObjects = ['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'];

/** The keywords that are of no importance to a type. */
export const foreign: Readonly<Record<JsonType, readonly string[]>> = {
  boolean: [...numeric, ...textual, ...ofArrays, ...ofObjects],
  integer: [...textual, ...ofArrays, ...ofObjects],
  number: [...textual, ...ofArrays, ...ofObjects],
  string: [...numeric, ...ofArrays, ...ofObjects],
  array: [...numeric, ...textual, ...ofObjects],
  object: [...numeric, ...textual, ...ofArrays],
};

const ofSingle: ReadonlySet<string> = new Set([...numeric, ...textual]);

/**
 * What is left of it for the types that a schema states: a length demands nothing of a number. Who writes `properties`
 * beside another type has made a mistake with the type, and clients read the fields.
 */
export function applying(said: Sayings, types: ReadonlySet<JsonType> | undefined): Sayings {
  if (types === undefined) return said;
  const isForeign = (keyword: string): boolean =>
    ofSingle.has(keyword) && [...types].every((type) => foreign[type].includes(keyword));
  return [...said.keys()].some(isForeign) ? new Map([...said].filter(([keyword]) => !isForeign(keyword))) : said;
}
