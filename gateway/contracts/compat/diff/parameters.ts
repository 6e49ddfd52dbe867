import type { Documents } from '../../../contract/document/documents.ts';
import { below, entriesOf, itemsOf, type Located } from '../../../contract/document/located.ts';
import { type Caller, type Direction, directionsOf, parameterNames, type Route } from '../../../contract/routes.ts';
import { isMap } from '../../../shared/json.ts';
import { addChange, addPart, type Comparison, compareDescriptions, type Serialization, samePlace } from './change.ts';
import { compareContent } from './content.ts';
import type { ContractPair } from './contractPair.ts';

interface Parameter {
  readonly name: string;
  /** `path`, `query`, `header` or `cookie`. */
  readonly in: string;
  readonly located: Located;
}

/** Compares the parameters of an operation: path, query, header and cookie. */
export function compareParameters(
  old: Route,
  now: Route,
  caller: Caller,
  contracts: ContractPair,
  into: Comparison,
): void {
  const [before, after] = [parametersOf(old, contracts.old), parametersOf(now, contracts.new)];
  for (const [key, parameter] of before) {
    const kept = after.get(key);
    if (kept) {
      const comparison = compareParameter(parameter.located, kept.located, caller, contracts);
      addPart(into, { kind: 'parameter', in: kept.in, name: kept.name }, comparison);
    } else if (parameter.in !== 'path')
      addParameter('removed', parameter, caller, into, { old: parameter.located, new: undefined });
  }
  for (const [key, parameter] of after) {
    // A path parameter is not new, because the old path has it. If `before` lacks it, the old contract did not describe it.
    if (before.has(key) || parameter.in === 'path') continue;
    const effect = isRequiredParameter(parameter.located) ? 'added_required' : 'added';
    addParameter(effect, parameter, caller, into, { old: undefined, new: parameter.located });
  }
}

function compareParameter(old: Located, now: Located, caller: Caller, contracts: ContractPair): Comparison | undefined {
  // The first argument is a part of the key of the result, by which a component that many routes share is compared once.
  return contracts.compareUnlessIdentical(`parameter ${caller}`, old, now, (before, after, into) => {
    const [wasRequired, isRequired] = [isRequiredParameter(before), isRequiredParameter(after)];
    if (wasRequired !== isRequired) {
      const effect = isRequired ? 'required' : 'optional';
      const places = { old: placeOfRequired(before), new: placeOfRequired(after) };
      if (caller === 'client') addChange(into, { kind: 'parameter', effect, ...places });
      else addChange(into, { kind: 'presence', effect, direction: 'response', ...places });
    }
    compareParameterValues(before, after, directionsOf(caller).request, contracts, into);
  });
}

/** Adds a change for an added or removed parameter. A parameter of a webhook counts as a field that clients receive. */
function addParameter(
  effect: 'added' | 'added_required' | 'removed',
  parameter: Parameter,
  caller: Caller,
  into: Comparison,
  places: { readonly old: Located | undefined; readonly new: Located | undefined },
): void {
  const { name } = parameter;
  const detail = { is: 'parameter', in: parameter.in } as const;
  if (caller === 'client') addChange(into, { kind: 'parameter', effect, name, detail, ...places });
  else addChange(into, { kind: 'field', effect, direction: 'response', name, detail, ...places });
}

// OpenAPI ignores parameters with these names: other keywords describe these headers.
const ignoredHeaders: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization']);

/** The parameters of the operation, and those of its path item that it does not override. Keys: `query limit`, `path 0`. */
function parametersOf({ path, item, operation }: Route, documents: Documents): Map<string, Parameter> {
  const namesInPath = parameterNames(path);
  const parameters = new Map<string, Parameter>();
  for (const written of [...itemsOf(below(item, 'parameters')), ...itemsOf(below(operation, 'parameters'))]) {
    const located = documents.resolve(written);
    if (!isMap(located.value)) continue;
    const location = String(located.value['in']);
    const name = String(located.value['name']);
    if (location === 'header' && ignoredHeaders.has(name.toLowerCase())) continue;
    // The position identifies a path parameter, because its name is never sent.
    const position = String(namesInPath.indexOf(name));
    const identity = location === 'path' ? position : location === 'header' ? name.toLowerCase() : name;
    parameters.set(`${location} ${identity}`, { name, in: location, located });
  }
  return parameters;
}

function isRequiredParameter({ value }: Located): boolean {
  return isMap(value) && value['in'] !== 'path' && value['required'] === true;
}

function placeOfRequired(located: Located): Located {
  const required = below(located, 'required');
  return required.value === undefined ? located : required;
}

/** Compares the headers of a response. Their names are case-insensitive. */
export function compareHeaders(
  old: Located,
  now: Located,
  direction: Direction,
  contracts: ContractPair,
  into: Comparison,
): void {
  // Clients send the responses of webhooks, so a header of such a response is compared as a field of a request.
  const kind = direction === 'response' ? 'header' : 'field';
  const [before, after] = [headersOf(old), headersOf(now)];
  for (const [key, { name, located }] of before) {
    const kept = after.get(key);
    if (kept === undefined) addChange(into, { kind, effect: 'removed', direction, name, old: located, new: undefined });
    else {
      const comparison = compareHeader(located, kept.located, direction, contracts);
      addPart(into, { kind: 'header', name }, comparison);
    }
  }
  for (const [key, { name, located }] of after) {
    if (before.has(key)) continue;
    const isNewlyRequired = direction === 'request' && isRequiredHeader(contracts.new.resolve(located));
    const change = { direction, name, old: undefined, new: located };
    if (isNewlyRequired) addChange(into, { kind: 'field', effect: 'added_required', ...change });
    else addChange(into, { kind, effect: 'added', ...change });
  }
}

function compareHeader(
  old: Located,
  now: Located,
  direction: Direction,
  contracts: ContractPair,
): Comparison | undefined {
  return contracts.compareUnlessIdentical(`header ${direction}`, old, now, (before, after, into) => {
    const [wasRequired, isRequired] = [isRequiredHeader(before), isRequiredHeader(after)];
    if (wasRequired !== isRequired) {
      const kind = direction === 'response' ? 'header' : 'presence';
      addChange(into, { kind, effect: isRequired ? 'required' : 'optional', direction, old: before, new: after });
    }
    compareParameterValues(before, after, direction, contracts, into);
  });
}

/** Header name in lower case → its name as written, and the header. OpenAPI ignores `Content-Type` here: the media types replace it. */
function headersOf(located: Located): Map<string, { name: string; located: Located }> {
  const entries = entriesOf(located).filter(
    ([name, { value }]) => isMap(value) && name.toLowerCase() !== 'content-type',
  );
  return new Map(entries.map(([name, header]) => [name.toLowerCase(), { name, located: header }]));
}

function isRequiredHeader({ value }: Located): boolean {
  return isMap(value) && value['required'] === true;
}

/** Compares the values of a parameter or header, and their serialization. */
function compareParameterValues(
  old: Located,
  now: Located,
  direction: Direction,
  contracts: ContractPair,
  into: Comparison,
): void {
  compareDescriptions(old, now, into);
  for (const keyword of permissions) comparePermission(keyword, old, now, direction, into);
  const [oldSchema, newSchema] = [below(old, 'schema'), below(now, 'schema')];
  const isScalar = contracts.areScalar(oldSchema, newSchema);
  const [before, after] = [serializationOf(old, isScalar), serializationOf(now, isScalar)];
  if (!isSameSerialization(before, after)) {
    const detail = { is: 'serialization', old: before, new: after } as const;
    addChange(into, { kind: 'serialization', effect: 'changed', direction, detail, old, new: now });
  } else if (before === 'content') {
    compareContent(below(old, 'content'), below(now, 'content'), direction, contracts, into);
  } else addPart(into, samePlace, contracts.compareSchemas(oldSchema, newSchema, { direction, wireFormat: 'text' }));
}

const permissions = ['allowReserved', 'allowEmptyValue'] as const;

function comparePermission(keyword: string, old: Located, now: Located, direction: Direction, into: Comparison): void {
  const [before, after] = [below(old, keyword), below(now, keyword)];
  const [wasAllowed, isAllowed] = [before.value === true, after.value === true];
  if (wasAllowed === isAllowed) return;
  const effect = isAllowed ? 'wider' : 'narrower';
  addChange(into, { kind: 'limit', effect, direction, name: keyword, old: before, new: after });
}

// Styles with a prefix: `;color=blue`, `.blue`. They also affect single values.
const prefixedStyles: ReadonlySet<string> = new Set(['matrix', 'label']);
const defaultStyles: Readonly<Record<string, string>> = {
  query: 'form',
  cookie: 'form',
  path: 'simple',
  header: 'simple',
};

/** `style` and `explode`, or their defaults. `isScalar`: no value is an array or object, so most styles have no effect. */
function serializationOf({ value }: Located, isScalar: boolean): Serialization {
  if (!isMap(value)) return 'none';
  if (value['schema'] === undefined && isMap(value['content'])) return 'content';
  const style =
    typeof value['style'] === 'string' ? value['style'] : (defaultStyles[String(value['in'] ?? 'header')] ?? 'form');
  if (isScalar && !prefixedStyles.has(style)) return 'plain';
  const isExploded = typeof value['explode'] === 'boolean' ? value['explode'] : style === 'form' || style === 'cookie';
  return { style, isExploded: isExploded && !isScalar };
}

function isSameSerialization(a: Serialization, b: Serialization): boolean {
  if (typeof a !== 'object' || typeof b !== 'object') return a === b;
  return a.style === b.style && a.isExploded === b.isExploded;
}
