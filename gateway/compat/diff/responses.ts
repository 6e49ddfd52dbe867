import { below, entriesOf, isMap, type Located } from '../document/located.ts';
import { compareContent } from './bodies.ts';
import type { Comparison } from './change.ts';
import { addChange, addPart, compareAsDocs, compareDocs } from './comparison.ts';
import { type Caller, type ContractPair, directionsOf } from './contractPair.ts';
import { compareHeaders } from './parameters.ts';

/**
 * Compares responses by status. `2XX` includes every 2xx without an entry of its own, and `default` every error. A
 * contract with `default` alone may mean successful responses by it, too.
 */
export function compareResponses(
  old: Located,
  now: Located,
  caller: Caller,
  contracts: ContractPair,
  into: Comparison,
): void {
  const [before, after] = [statusesOf(old), statusesOf(now)];
  for (const [status, response] of before) {
    const kept = after.get(status) ?? keptBy(status, after);
    if (kept) compareResponse(status, response, kept, caller, contracts, into);
    // The statuses that remain of a range are compared with it below.
    else if (includesAny(status, after)) addLimit('narrower', status, caller, into, response, undefined);
    else addWhole('removed', status, caller, into, response, undefined);
  }
  for (const [status, response] of after) {
    if (before.has(status)) continue;
    const wider = including(status, before);
    if (wider) compareResponse(status, wider, response, caller, contracts, into);
    else addWhole('added', status, caller, into, undefined, response);
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
  const comparison = contracts.compareUnlessIdentical(`response ${caller}`, old, now, (before, after, own) => {
    compareDocs(before, after, own);
    // Links only suggest further requests. Their targets are compared as routes.
    compareAsDocs('links', below(before, 'links'), below(after, 'links'), own);
    const direction = directionsOf(caller).response;
    compareHeaders(below(before, 'headers'), below(after, 'headers'), direction, contracts, own);
    compareContent(below(before, 'content'), below(after, 'content'), direction, contracts, own);
  });
  addPart(into, { kind: 'part', text: `response ${status}` }, comparison);
}

/** Adds a change for a whole response. Clients respond to webhooks: a status the API no longer accepts limits them. */
function addWhole(
  effect: 'added' | 'removed',
  status: string,
  caller: Caller,
  into: Comparison,
  old: Located | undefined,
  now: Located | undefined,
): void {
  if (caller === 'api') addLimit(effect === 'added' ? 'wider' : 'narrower', status, caller, into, old, now);
  else {
    const kind = /^[123]/.test(status) ? 'status' : 'error_status';
    addChange(into, { kind, effect, name: status, old, new: now });
  }
}

function addLimit(
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

/** The entry that includes a status without an entry of its own. `default` does not keep a successful status. */
function keptBy(status: string, others: ReadonlyMap<string, Located>): Located | undefined {
  return /^[123]/.test(status) ? others.get(`${status.slice(0, 1)}XX`) : including(status, others);
}

function including(status: string, others: ReadonlyMap<string, Located>): Located | undefined {
  if (status === 'default') return undefined;
  const isError = /^[45]/.test(status);
  const hasSuccess = [...others.keys()].some((other) => /^[123]/.test(other));
  return others.get(`${status.slice(0, 1)}XX`) ?? (isError || !hasSuccess ? others.get('default') : undefined);
}

/** Whether `status` is a range that includes one of the others. */
function includesAny(status: string, others: ReadonlyMap<string, Located>): boolean {
  return status.endsWith('XX') && [...others.keys()].some((other) => other.startsWith(status.slice(0, 1)));
}

function statusesOf(responses: Located): Map<string, Located> {
  const known = entriesOf(responses).filter(([status, { value }]) => !status.startsWith('x-') && isMap(value));
  return new Map(known.map(([status, response]) => [status === 'default' ? status : status.toUpperCase(), response]));
}
