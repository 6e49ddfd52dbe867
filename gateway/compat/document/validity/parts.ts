import { CompareError } from '../../failure.ts';
import type { Documents } from '../documents.ts';
import { below, isList, isMap, itemsOf, type Located, refOf } from '../located.ts';

/** Anything in a contract that is no mere data: what stands in an example means nothing. */
export interface Part {
  readonly located: Located;
  readonly kind: Kind;
}

type Kind = 'schema' | 'other';

const schemaKeys = `schema itemSchema items prefixItems additionalItems additionalProperties unevaluatedItems
  unevaluatedProperties propertyNames contains contentSchema not if then else allOf anyOf oneOf`.split(/\s+/);
const schemaNames = 'properties patternProperties dependentSchemas $defs definitions schemas'.split(' ');
const otherNames = `paths webhooks responses parameters examples requestBodies headers securitySchemes links callbacks
  pathItems mediaTypes content encoding additionalOperations variables`.split(/\s+/);
const dataKeys = 'example default enum const value mapping'.split(' ');

/** What the keys of a map lead to: parts, or maps whose keys are names and whose values are parts. */
const meanings = new Map<string, { readonly kind: Kind; readonly areNames: boolean } | undefined>([
  ...schemaKeys.map((key) => [key, { kind: 'schema', areNames: false }] as const),
  ...schemaNames.map((key) => [key, { kind: 'schema', areNames: true }] as const),
  ...otherNames.map((key) => [key, { kind: 'other', areNames: true }] as const),
  ...dataKeys.map((key) => [key, undefined] as const),
]);

/** Every part of a contract once, those in its other files as well. */
export function partsOf(documents: Documents): Part[] {
  const parts: Part[] = [];
  const seen = new Set<unknown>();
  const waiting: Part[] = [{ located: documents.root, kind: 'other' }];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const { located, kind } = part;
    if (seen.has(located.value)) continue;
    if (isMap(located.value) || isList(located.value)) seen.add(located.value);
    const inner = isList(located.value) ? itemsOf(located).map((item) => ({ located: item, kind })) : innerParts(part);
    if (isMap(located.value)) parts.push(part);
    const target = targetOf(located, documents);
    if (target) waiting.push({ located: target, kind });
    waiting.push(...inner.reverse());
  }
  return parts;
}

function innerParts({ located }: Part): Part[] {
  if (!isMap(located.value)) return [];
  return Object.keys(located.value).flatMap((key): Part[] => {
    if (key.startsWith('x-')) return [];
    const inner = below(located, key);
    const meaning = meanings.has(key) ? meanings.get(key) : { kind: 'other' as const, areNames: false };
    if (meaning === undefined || (key === 'examples' && isList(inner.value))) return [];
    const { kind, areNames } = meaning;
    if (!areNames || !isMap(inner.value)) return [{ located: inner, kind }];
    return Object.keys(inner.value).map((name) => ({ located: below(inner, name), kind }));
  });
}

/** Undefined for what is no `$ref`, and for one that leads nowhere. */
function targetOf(located: Located, documents: Documents): Located | undefined {
  return refOf(located.value) === undefined ? undefined : resolved(located, documents);
}

/** What is meant; undefined where a `$ref` leads nowhere, which is a fault of its own. */
export function resolved(located: Located, documents: Documents): Located | undefined {
  try {
    return documents.resolve(located);
  } catch (error) {
    if (error instanceof CompareError) return undefined;
    throw error;
  }
}
