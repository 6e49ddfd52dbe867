import { ago, inWholeUnits } from '../shared/ago.ts';
import { counted, grouped } from '../shared/counted.ts';
import { harmlessly } from '../shared/harmless.ts';
import { isTold } from '../usage/callers.ts';
import type { ClientUse, UsageQueries } from '../usage/queries.ts';
import type { RetirementFacts } from './facts.ts';
import { ignores } from './ignored.ts';

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

/** Up to five, the biggest first: `ios-app (last asked 3 h ago, 1,204 requests), …`. Fit to be printed. */
export function named(clients: readonly ClientUse[], now: number): string {
  const words = clients.slice(0, mostNamed).map(({ client, name, last, requests }) => {
    const made = requests > 0 ? counted(requests, 'request') : 'no new request';
    return `${harmlessly(name ?? client)} (last asked ${ago(last, now)}, ${made})`;
  });
  const more = clients.length - words.length;
  return words.join(', ') + (more > 0 ? ` and ${grouped(more)} more` : '');
}

/** `50,001 clients`; `At least 50,001 clients` where more were not told apart. */
export function howMany({ clients, others }: Asked): string {
  return others === undefined
    ? counted(clients.length, 'client')
    : `At least ${counted(Math.max(1, clients.length), 'client')}`;
}

/** Who is told apart, and what the rest did. Fit to be printed. */
export function who({ clients, others, now }: Asked & { readonly now: number }): string {
  const rest = others === undefined ? [] : [othersInWords(others)];
  return [...(clients.length > 0 ? [named(clients, now)] : []), ...rest].join('; and ');
}

/** `100,507 requests of clients beyond usage.max_clients, which were not told apart` */
export function othersInWords({ requests }: ClientUse): string {
  return `${counted(requests, 'request')} of clients beyond usage.max_clients, which were not told apart`;
}

/** `7: GET /drinks (1,204), GET /old (3)`: how many routes, and the most used of them. Fit to be printed. */
export function routesInWords(routes: number, top: readonly { route: string; requests: number }[]): string {
  const words = top.slice(0, mostRoutes).map(({ route, requests }) => {
    return `${harmlessly(route, 40)} (${grouped(requests)})`;
  });
  return words.length === 0 ? String(routes) : `${routes}: ${words.join(', ')}`;
}

/**
 * Who has asked for a version since then (epoch ms), for a sentence that tells somebody to leave it alone:
 * `clients: ios-app (last asked 3 h ago, 1,204 requests)`. Undefined: nobody.
 */
export function clientsInWords(
  version: string,
  queries: Pick<UsageQueries, 'byClient'>,
  since: number,
  now: number,
  ignored: readonly string[] = [],
): string | undefined {
  const isIgnored = ignores(ignored);
  const asked = queries.byClient(version, since).filter((one) => !isIgnored(one));
  if (asked.length === 0) return undefined;
  return `clients: ${who({ clients: asked.filter(isTold), others: asked.find((one) => !isTold(one)), now })}`;
}
