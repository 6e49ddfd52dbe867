import type { Documents } from '../../../contract/document/documents.ts';
import { below, entriesOf, isList, type Located } from '../../../contract/document/located.ts';
import {
  addOperations,
  type Caller,
  callerOf,
  directionsOf,
  parameterNames,
  type Route,
} from '../../../contract/routes.ts';
import { canonicalJson, canonicalJsonWithoutDocs } from '../../../contract/schema/keywords.ts';
import { isMap } from '../../../shared/json.ts';
import {
  addChange,
  addPart,
  type Comparison,
  compareAsDescription,
  compareDescriptions,
  emptyComparison,
  samePlace,
} from './change.ts';
import { compareContent } from './content.ts';
import type { ContractPair } from './contractPair.ts';
import { compareHeaders, compareParameters } from './parameters.ts';

export function compareOperations(old: Route, now: Route, contracts: ContractPair): Comparison {
  const caller = callerOf(now);
  const into = emptyComparison();
  const [before, after] = [old.operation, now.operation];
  compareDescriptions(before, after, into);
  compareDescriptions(old.item, now.item, into);
  // `servers` count as a description here: a change of the base path is a change of the route itself.
  compareAsDescription('servers', below(before, 'servers'), below(after, 'servers'), into);
  compareAsDescription('servers', below(old.item, 'servers'), below(now.item, 'servers'), into);
  if (caller === 'client') compareParameterNames(old, now, into);
  compareParameters(old, now, caller, contracts, into);
  compareBodies(below(before, 'requestBody'), below(after, 'requestBody'), caller, contracts, into);
  compareResponses(below(before, 'responses'), below(after, 'responses'), caller, contracts, into);
  if (caller === 'client') addPart(into, samePlace, compareSecurity(before, after, contracts));
  compareCallbacks(before, after, contracts, into);
  return into;
}

function compareParameterNames(old: Route, now: Route, into: Comparison): void {
  const [before, after] = [parameterNames(old.path), parameterNames(now.path)];
  if (before.join(', ') === after.join(', ')) return;
  const detail = { is: 'names', old: before, new: after } as const;
  addChange(into, { kind: 'path_name', effect: 'changed', detail, old: old.item, new: now.item });
}

/** Compares request bodies. The API sends the body of a webhook, so it is compared as a field `body` of a response. */
function compareBodies(old: Located, now: Located, caller: Caller, contracts: ContractPair, into: Comparison): void {
  const isClient = caller === 'client';
  if (isMap(old.value) && isMap(now.value)) {
    const comparison = contracts.compareUnlessIdentical(`body ${caller}`, old, now, (before, after, bodyChanges) =>
      compareBody(before, after, caller, contracts, bodyChanges),
    );
    addPart(into, { kind: 'request_body' }, comparison);
  } else if (isMap(old.value)) {
    if (isClient) addChange(into, { kind: 'body', effect: 'removed', old, new: undefined });
    else addBodyField(into, 'removed', old, undefined);
  } else if (isMap(now.value)) {
    const effect = isRequired(contracts.new.resolve(now)) ? 'added_required' : 'added';
    if (isClient) addChange(into, { kind: 'body', effect, old: undefined, new: now });
    else addBodyField(into, effect, undefined, now);
  }
}

function addBodyField(
  into: Comparison,
  effect: 'added' | 'added_required' | 'removed',
  old: Located | undefined,
  now: Located | undefined,
): void {
  addChange(into, { kind: 'field', effect, direction: 'response', name: 'body', old, new: now });
}

function compareBody(old: Located, now: Located, caller: Caller, contracts: ContractPair, into: Comparison): void {
  compareDescriptions(old, now, into);
  if (isRequired(old) !== isRequired(now)) {
    const effect = isRequired(now) ? 'required' : 'optional';
    const places = { old: below(old, 'required'), new: below(now, 'required') };
    if (caller === 'client') addChange(into, { kind: 'body', effect, ...places });
    else addChange(into, { kind: 'presence', effect, direction: 'response', name: 'body', ...places });
  }
  compareContent(below(old, 'content'), below(now, 'content'), directionsOf(caller).request, contracts, into);
}

function isRequired({ value }: Located): boolean {
  return isMap(value) && value['required'] === true;
}

/**
 * Compares responses by status. `2XX` includes every 2xx without an entry of its own, and `default` every error. A
 * contract that lists no successful status may also use `default` for successful responses.
 */
function compareResponses(old: Located, now: Located, caller: Caller, contracts: ContractPair, into: Comparison): void {
  const [before, after] = [statusesOf(old), statusesOf(now)];
  for (const [status, response] of before) {
    // A successful status that only `default` may include counts as removed.
    const kept = after.get(status) ?? entrySurelyIncluding(status, after);
    if (kept) compareResponse(status, response, kept, caller, contracts, into);
    // The loop below compares each new status of the range with the range.
    else if (isNarrowed(status, after)) addStatusLimit('narrower', status, caller, into, response, undefined);
    else addResponse('removed', status, caller, into, response, undefined);
  }
  for (const [status, response] of after) {
    if (before.has(status)) continue;
    const wider = entryIncluding(status, before);
    if (wider) compareResponse(status, wider, response, caller, contracts, into);
    else addResponse('added', status, caller, into, undefined, response);
  }
}

function compareResponse(
  status: string,
  old: Located,
  now: Located,
  caller: Caller,
  contracts: ContractPair,
  into: Comparison,
): void {
  const comparison = contracts.compareUnlessIdentical(
    `response ${caller}`,
    old,
    now,
    (before, after, responseChanges) => {
      compareDescriptions(before, after, responseChanges);
      // Links only suggest further requests. Their targets are compared as routes.
      compareAsDescription('links', below(before, 'links'), below(after, 'links'), responseChanges);
      const direction = directionsOf(caller).response;
      compareHeaders(below(before, 'headers'), below(after, 'headers'), direction, contracts, responseChanges);
      compareContent(below(before, 'content'), below(after, 'content'), direction, contracts, responseChanges);
    },
  );
  addPart(into, { kind: 'response', status }, comparison);
}

/** Adds a change for a whole response. Clients respond to webhooks, so a status that the API no longer accepts limits clients. */
function addResponse(
  effect: 'added' | 'removed',
  status: string,
  caller: Caller,
  into: Comparison,
  old: Located | undefined,
  now: Located | undefined,
): void {
  if (caller === 'api') addStatusLimit(effect === 'added' ? 'wider' : 'narrower', status, caller, into, old, now);
  else {
    const kind = /^[123]/.test(status) ? 'status' : 'error_status';
    addChange(into, { kind, effect, name: status, old, new: now });
  }
}

function addStatusLimit(
  effect: 'wider' | 'narrower',
  status: string,
  caller: Caller,
  into: Comparison,
  old: Located | undefined,
  now: Located | undefined,
): void {
  const direction = directionsOf(caller).response;
  const detail = { is: 'status', status } as const;
  addChange(into, { kind: 'limit', effect, direction, name: 'status', detail, old, new: now });
}

/** Like `entryIncluding`, but `default` never includes a successful status. */
function entrySurelyIncluding(status: string, others: ReadonlyMap<string, Located>): Located | undefined {
  return /^[123]/.test(status) ? others.get(`${status.slice(0, 1)}XX`) : entryIncluding(status, others);
}

/**
 * The entry that includes a status without an entry of its own: its range, such as `2XX`, or `default`. If `others` lists a
 * successful status, `default` includes only errors.
 */
function entryIncluding(status: string, others: ReadonlyMap<string, Located>): Located | undefined {
  if (status === 'default') return undefined;
  const isError = /^[45]/.test(status);
  const hasSuccess = [...others.keys()].some((other) => /^[123]/.test(other));
  return others.get(`${status.slice(0, 1)}XX`) ?? (isError || !hasSuccess ? others.get('default') : undefined);
}

/** Whether `status` is a range that includes one of the others. */
function isNarrowed(status: string, others: ReadonlyMap<string, Located>): boolean {
  return status.endsWith('XX') && [...others.keys()].some((other) => other.startsWith(status.slice(0, 1)));
}

function statusesOf(responses: Located): Map<string, Located> {
  const entries = entriesOf(responses).filter(([status, { value }]) => !status.startsWith('x-') && isMap(value));
  return new Map(entries.map(([status, response]) => [status === 'default' ? status : status.toUpperCase(), response]));
}

/** Compares the security requirements of the operation, or else those of the whole API. */
function compareSecurity(old: Located, now: Located, contracts: ContractPair): Comparison | undefined {
  const [before, after] = [requirementsOf(old, contracts.old), requirementsOf(now, contracts.new)];
  if (before.value === undefined && after.value === undefined) return undefined;
  return contracts.compareOnce('security', before, after, (_old, _now, into) => {
    if (securityKey(before, contracts.old) === securityKey(after, contracts.new)) return;
    addChange(into, { kind: 'security', effect: 'changed', direction: 'request', old: before, new: after });
  });
}

function requirementsOf(operation: Located, { root }: Documents): Located {
  const own = below(operation, 'security');
  return own.value === undefined ? below(root, 'security') : own;
}

/** The requirements and the definitions of their schemes as text, sorted, so that equal requirements have equal keys. */
function securityKey({ value }: Located, documents: Documents): string {
  const schemes = below(below(documents.root, 'components'), 'securitySchemes');
  const requirements = isList(value) ? value.filter(isMap) : [];
  const texts = requirements.map((requirement) => {
    const names = Object.keys(requirement).sort();
    return names
      .map(
        (name) =>
          `${canonicalJson(requirement[name])} ${canonicalJsonWithoutDocs(documents.resolve(below(schemes, name)).value)}`,
      )
      .join(' and ');
  });
  return [...new Set(texts)].sort().join(' or ');
}

/** Compares the operations that the API calls in response to this one. */
function compareCallbacks(old: Located, now: Located, contracts: ContractPair, into: Comparison): void {
  const [before, after] = [callbacksOf(old, contracts.old), callbacksOf(now, contracts.new)];
  for (const [key, route] of before) {
    const kept = after.get(key);
    const comparison = kept ? compareCallback(key, route, kept, contracts) : emptyComparison();
    if (!kept) addChange(comparison, { kind: 'route', effect: 'removed', old: route.operation, new: undefined });
    addPart(into, { kind: 'callback', method: route.method, path: route.path }, comparison);
  }
  for (const [key, route] of after) {
    if (before.has(key)) continue;
    const comparison = emptyComparison();
    addChange(comparison, { kind: 'route', effect: 'added', old: undefined, new: route.operation });
    addPart(into, { kind: 'callback', method: route.method, path: route.path }, comparison);
  }
}

/** Compares each pair of operations only once, because a callback may contain itself. */
function compareCallback(key: string, old: Route, now: Route, contracts: ContractPair): Comparison {
  return contracts.compareOnce(key, old.operation, now.operation, (_old, _now, into) => {
    addPart(into, samePlace, compareOperations(old, now, contracts));
  });
}

function callbacksOf(operation: Located, documents: Documents): Map<string, Route> {
  const routes = new Map<string, Route>();
  for (const [name, callback] of entriesOf(below(operation, 'callbacks'))) {
    for (const [expression, item] of entriesOf(documents.resolve(callback))) {
      addOperations('callback', `${name} ${expression}`, item, documents, routes);
    }
  }
  return routes;
}
