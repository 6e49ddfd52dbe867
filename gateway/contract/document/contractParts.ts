import { isMap } from '../../shared/json.ts';
import { CompareError } from '../failure.ts';
import type { Documents } from './documents.ts';
import { below, entriesOf, isList, itemsOf, type Located, refOf } from './located.ts';

/** A map that the OpenAPI specification defines, such as a schema or a response. An example is plain data, and not a part. */
export interface ContractPart {
  readonly located: Located;
  readonly kind: PartKind;
}

type PartKind = 'schema' | 'other';

// A key that is in none of these sets holds a part of kind `other`.
const schemaKeys = new Set(
  `schema itemSchema items prefixItems additionalItems additionalProperties unevaluatedItems unevaluatedProperties
  propertyNames contains contentSchema not if then else allOf anyOf oneOf`.split(/\s+/),
);
const schemaMapKeys = new Set('properties patternProperties dependentSchemas $defs definitions schemas'.split(' '));
const otherMapKeys = new Set(
  `paths webhooks responses parameters examples requestBodies headers securitySchemes links callbacks pathItems mediaTypes
  content encoding additionalOperations variables`.split(/\s+/),
);
const dataKeys = new Set('example default enum const value mapping'.split(' '));

/** Lists each part of a contract once. Includes the parts in other files that the contract references. */
export function contractParts(documents: Documents): ContractPart[] {
  const parts: ContractPart[] = [];
  const seen = new Set<unknown>();
  const waiting: ContractPart[] = [{ located: documents.root, kind: 'other' }];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const { located, kind } = part;
    if (seen.has(located.value)) continue;
    if (isMap(located.value) || isList(located.value)) seen.add(located.value);
    const inner = isList(located.value) ? itemsOf(located).map((item) => ({ located: item, kind })) : innerParts(part);
    if (isMap(located.value)) parts.push(part);
    const target = refOf(located.value) === undefined ? undefined : resolvedOrUndefined(located, documents);
    if (target) waiting.push({ located: target, kind });
    waiting.push(...inner.reverse());
  }
  return parts;
}

function innerParts({ located }: ContractPart): ContractPart[] {
  if (!isMap(located.value)) return [];
  return Object.keys(located.value).flatMap((key): ContractPart[] => {
    if (key.startsWith('x-')) return [];
    const inner = below(located, key);
    // `examples` is a list of data in a schema, and a map of parts elsewhere.
    if (dataKeys.has(key) || (key === 'examples' && isList(inner.value))) return [];
    const kind = schemaKeys.has(key) || schemaMapKeys.has(key) ? 'schema' : 'other';
    const isMapOfParts = schemaMapKeys.has(key) || otherMapKeys.has(key);
    if (!isMapOfParts || !isMap(inner.value)) return [{ located: inner, kind }];
    return Object.keys(inner.value).map((name) => ({ located: below(inner, name), kind }));
  });
}

/** An operation of a path or a webhook. */
export interface ContractOperation {
  readonly located: Located;
  /** The path as written in the contract, or the name of the webhook. */
  readonly path: string;
  readonly isWebhook: boolean;
  /** The parameters of the operation, then those of its path item. `$ref`s are resolved. */
  readonly parameters: readonly Located[];
}

const methods = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query']);

export function operationsOf(documents: Documents): ContractOperation[] {
  return ['paths', 'webhooks'].flatMap((section) =>
    entriesOf(below(documents.root, section))
      .filter(([path]) => section === 'webhooks' || path.startsWith('/'))
      .flatMap(([path, entry]) => {
        const pathItem = resolvedOrUndefined(entry, documents);
        if (!pathItem) return [];
        const standardOperations = entriesOf(pathItem).filter(([method]) => methods.has(method));
        return [...standardOperations, ...entriesOf(below(pathItem, 'additionalOperations'))]
          .filter(([, located]) => isMap(located.value))
          .map(([, located]) => ({
            located,
            path,
            isWebhook: section === 'webhooks',
            parameters: [located, pathItem].flatMap((holder) => parametersOf(holder, documents)),
          }));
      }),
  );
}

function parametersOf(holder: Located, documents: Documents): Located[] {
  return itemsOf(below(holder, 'parameters')).flatMap((entry) => resolvedOrUndefined(entry, documents) ?? []);
}

/** `Documents.resolve`; undefined for a broken `$ref`, which `checkReferences` reports. */
function resolvedOrUndefined(located: Located, documents: Documents): Located | undefined {
  try {
    return documents.resolve(located);
  } catch (error) {
    if (error instanceof CompareError) return undefined;
    throw error;
  }
}
