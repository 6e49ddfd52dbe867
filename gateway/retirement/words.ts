import { ago, grouped, inWholeUnits, plural, printableExcerpt } from '../shared/text.ts';
import type { ClientUse } from '../usage/usageQueries.ts';
import { isSingleClient } from '../usage/usageRow.ts';
import { type RetirementFacts, requestsOf } from './facts.ts';

type Named = Pick<ClientUse, 'client' | 'name' | 'last' | 'requests'>;
type Asked = Pick<RetirementFacts, 'clients' | 'others'>;

const mostNamed = 5;
const mostRoutes = 2;

/** A share of 0 to 1 as a percentage that is never rounded to nothing: `2.3%`, `less than 0.01%`. */
export function percent(share: number): string {
  if (share > 0 && share < 0.0001) return 'less than 0.01%';
  return `${Number((share * 100).toPrecision(share >= 0.1 ? 3 : 2))}%`;
}

/** `the last 7 days`; ms. */
export function theLast(ms: number): string {
  return `the last ${inWholeUnits(ms)}`;
}

/** `2026-11-21` */
export function dayOf(instant: number): string {
  return new Date(instant).toISOString().slice(0, 10);
}

/** `2026-11-21T10:30:05Z` */
export function secondOf(instant: number): string {
  return new Date(instant).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** A client that only has an earlier request open made none. */
function requestsInWords(requests: number): string {
  return requests > 0 ? plural(requests, 'request') : 'no new request';
}

/** Up to five, the biggest first: `ios-app (last asked 3 h ago, 1,204 requests), …`. Fit to be printed. */
export function named<One extends Named>(
  clients: readonly One[],
  now: number,
  details: (one: One) => string = ({ requests }) => requestsInWords(requests),
): string {
  const words = clients.slice(0, mostNamed).map((one) => {
    return `${printableExcerpt(one.name ?? one.client)} (last asked ${ago(one.last, now)}, ${details(one)})`;
  });
  const more = clients.length - words.length;
  return words.join(', ') + (more > 0 ? ` and ${grouped(more)} more` : '');
}

/** `50,001 clients`; `At least 50,001 clients` where more were not told apart. */
export function howMany({ clients, others }: Asked): string {
  return others === undefined
    ? plural(clients.length, 'client')
    : `At least ${plural(Math.max(1, clients.length), 'client')}`;
}

/** Who is told apart, and what the rest did. Fit to be printed. */
export function who({ clients, others, now }: Asked & { readonly now: number }): string {
  const rest = others === undefined ? [] : [othersInWords(others)];
  const details = (one: ClientUse): string => requestsInWords(requestsOf([one]));
  return [...(clients.length > 0 ? [named(clients, now, details)] : []), ...rest].join('; and ');
}

/** `100,507 requests of clients beyond usage.max_clients, which were not told apart` */
export function othersInWords(others: ClientUse): string {
  return `${plural(requestsOf([others]), 'request')} of clients beyond usage.max_clients, which were not told apart`;
}

/** `7: GET /drinks (1,204), GET /old (3)`: how many routes, and the most used of them. Fit to be printed. */
export function routesInWords(routes: number, top: readonly { route: string; requests: number }[]): string {
  const words = top.slice(0, mostRoutes).map(({ route, requests }) => {
    return `${printableExcerpt(route, 40)} (${grouped(requests)})`;
  });
  return words.length === 0 ? String(routes) : `${routes}: ${words.join(', ')}`;
}

/** For a sentence: `clients: ios-app (last asked 3 h ago, 1,204 requests)`. Undefined: nobody. */
export function clientsInWords(callers: readonly ClientUse[], now: number): string | undefined {
  if (callers.length === 0) return undefined;
  return `clients: ${who({ clients: callers.filter(isSingleClient), others: callers.find((one) => !isSingleClient(one)), now })}`;
}
