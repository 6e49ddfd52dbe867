import { addPart, type Comparison } from '../change.ts';
import { compareDocs } from '../compareDocs.ts';
import { below, entriesOf, isMap, type Located } from '../document/located.ts';
import { isEqual } from '../schema/canonical.ts';
import { compareContent } from './compareContent.ts';
import { compareHeaders } from './compareHeaders.ts';
import { directions, type Flow, found, type Sides } from './sides.ts';

/**
 * Responses by status. `2XX` covers every 2xx that is not listed, `default` every error that is not; what is no error
 * may be one of those that a contract once had under `default`, where nothing else was listed for that.
 */
export function compareResponses(old: Located, now: Located, flow: Flow, sides: Sides, into: Comparison): void {
  const [before, after] = [statuses(old), statuses(now)];
  for (const [status, response] of before) {
    const kept = after.get(status) ?? keeping(status, after);
    if (kept) compareResponse(status, response, kept, flow, sides, into);
    else if (isNarrowed(status, after)) {
      // What is left of a range is compared with it below.
      const change = { kind: 'limit', effect: 'narrower' } as const;
      found(into, change, directions(flow).response, `status ${status}`, response, undefined);
    } else tell('removed', status, flow, into, response, undefined);
  }
  for (const [status, response] of after) {
    if (before.has(status)) continue;
    const wider = covering(status, before);
    if (wider) compareResponse(status, wider, response, flow, sides, into);
    else tell('added', status, flow, into, undefined, response);
  }
}

function compareResponse(status: string, old: Located, now: Located, flow: Flow, sides: Sides, into: Comparison): void {
  const comparison = sides.unlessTwins(`response ${flow}`, old, now, (before, after, own) => {
    compareDocs(before, after, own);
    // Where one may go on from here is advice: what is there is compared at its own route.
    const [links, linksNow] = [below(before, 'links'), below(after, 'links')];
    if (!isEqual(links.value, linksNow.value))
      found(own, { kind: 'docs', effect: 'changed' }, undefined, 'links', links, linksNow);
    const direction = directions(flow).response;
    compareHeaders(below(before, 'headers'), below(after, 'headers'), direction, sides, own);
    compareContent(below(before, 'content'), below(after, 'content'), direction, sides, own);
  });
  addPart(into, { kind: 'part', text: `response ${status}` }, comparison);
}

/** To what the API calls, clients answer: a status that it no longer takes is a limit. */
function tell(
  effect: 'added' | 'removed',
  status: string,
  flow: Flow,
  into: Comparison,
  old: Located | undefined,
  now: Located | undefined,
): void {
  if (flow === 'out') {
    const limit = effect === 'added' ? 'wider' : 'narrower';
    found(into, { kind: 'limit', effect: limit }, 'request', `status ${status}`, old, now);
    return;
  }
  const kind = /^[123]/.test(status) ? 'status' : 'error_status';
  found(into, { kind, effect }, undefined, status, old, now);
}

/** What still speaks of a status that is no longer listed. `default` says of no success that it is left. */
function keeping(status: string, others: ReadonlyMap<string, Located>): Located | undefined {
  return /^[123]/.test(status) ? others.get(`${status.slice(0, 1)}XX`) : covering(status, others);
}

function covering(status: string, others: ReadonlyMap<string, Located>): Located | undefined {
  if (status === 'default') return undefined;
  const isError = /^[45]/.test(status);
  const rest = isError || ![...others.keys()].some((other) => /^[123]/.test(other)) ? others.get('default') : undefined;
  return others.get(`${status.slice(0, 1)}XX`) ?? rest;
}

function isNarrowed(status: string, others: ReadonlyMap<string, Located>): boolean {
  return status.endsWith('XX') && [...others.keys()].some((other) => other.startsWith(status.slice(0, 1)));
}

function statuses(responses: Located): Map<string, Located> {
  const known = entriesOf(responses).filter(([status, { value }]) => !status.startsWith('x-') && isMap(value));
  return new Map(known.map(([status, response]) => [status === 'default' ? status : status.toUpperCase(), response]));
}
