import type { Section } from '../../shared/document.ts';
import { dayText } from '../../shared/instant.ts';
import { ago, firstOf, inWholeUnits, plural, printableExcerpt, withCommas } from '../../shared/text.ts';
import type { MissingRoute } from '../../usage/evidence/missingRoutes.ts';
import type { ClientUse } from '../../usage/usageQueries.ts';
import { isSingleClient } from '../../usage/usageRow.ts';
import { type CountedClients, requestsOf } from './countedUsage.ts';

type ListedClient = Pick<ClientUse, 'client' | 'name' | 'last' | 'requests'>;
type Clients = Pick<CountedClients, 'clients' | 'others'>;

const maxListedClients = 5;
const maxListedRoutes = 2;

/** A share of 0 to 1 as a percentage: `2.3%`. A small share is `less than 0.01%`, never 0%. */
export function shareInWords(share: number): string {
  if (share > 0 && share < 0.0001) return 'less than 0.01%';
  return `${Number((share * 100).toPrecision(share >= 0.1 ? 3 : 2))}%`;
}

/** `GET /profile (GET /v2/profile: 404, 3 min ago), …`. Safe to print. `route`: of the version that is compared. */
export function missingRoutesInWords(
  routes: readonly { readonly route: string; readonly observed: MissingRoute }[],
  now: number,
): string {
  return firstOf(routes, 5, ({ route, observed }) => {
    const there = observed.route.replace(' /', ` /${observed.version}/`);
    return `${printableExcerpt(route)} (${printableExcerpt(there)}: ${observed.status}, ${ago(observed.last, now)})`;
  });
}

/** A period of `ms` up to now: `the last 7 days`. */
export function lastPeriodInWords(ms: number): string {
  return `the last ${inWholeUnits(ms)}`;
}

/** `12 clients call every 6 to 10 days`: clients that usually pause for days, with their shortest and longest usual pause in ms. */
export function pausingInWords({
  count,
  shortest,
  longest,
}: {
  count: number;
  shortest: number;
  longest: number;
}): string {
  const [from, to] = [shortest, longest].map((ms) => Math.max(1, Math.round(ms / 86_400_000)));
  return `${plural(count, 'client')} ${count === 1 ? 'calls' : 'call'} every ${from === to ? '' : `${from} to `}${plural(to ?? 1, 'day')}`;
}

/** `40 requests since 2026-08-13`: of a client that did not call in the last time, so its requests are those of the whole ledger. */
export function requestsSinceFirst({ requests, first }: { readonly requests: number; readonly first: number }): string {
  return `${plural(requests, 'request')} since ${dayText(first)}`;
}

/** A client whose only request began before the period and is still open has 0 requests. */
function requestsInWords(requests: number): string {
  return requests > 0 ? plural(requests, 'request') : 'no new request';
}

/** Up to five clients in their order: `ios-app (last call 3 h ago, 1,204 requests), …`. Safe to print. */
export function clientList<Client extends ListedClient>(
  clients: readonly Client[],
  now: number,
  details: (client: Client) => string = ({ requests }) => requestsInWords(requests),
): string {
  return firstOf(clients, maxListedClients, (one) => {
    return `${printableExcerpt(one.name ?? one.client)} (last call ${ago(one.last, now)}, ${details(one)})`;
  });
}

/** The JSON formats list more clients. */
export const maxTableRows = 20;

/** The first clients of a list, and how many more there are. `columns`: the heading of each, and what it says of a client. */
export function clientTable<Client extends { readonly client: string; readonly name: string | null }>(
  clients: readonly Client[],
  count: number,
  columns: readonly (readonly [heading: string, cellOf: (client: Client) => string])[],
): Pick<Section, 'table' | 'more'> {
  const rows = clients
    .slice(0, maxTableRows)
    .map((one) => [printableExcerpt(one.name ?? one.client), ...columns.map(([, cellOf]) => cellOf(one))]);
  const more = count - rows.length;
  return {
    table: { head: ['client', ...columns.map(([heading]) => heading)], rows },
    more: more > 0 ? [`and ${withCommas(more)} more`] : [],
  };
}

/** `50,001 clients`; `At least 50,001 clients` if some clients are counted together, or if requests are counted without their route. */
export function clientCount({
  clients,
  others,
  withoutRoute = 0,
}: Clients & { readonly withoutRoute?: number }): string {
  return others === undefined && withoutRoute === 0
    ? plural(clients.length, 'client')
    : `At least ${plural(Math.max(1, clients.length), 'client')}`;
}

/** The list of clients, and the requests of those that are counted together. Safe to print. */
export function clientsAndOthers({
  clients,
  others,
  now,
  fleet,
}: Clients & OthersContext & { readonly now: number }): string {
  const othersText = others === undefined ? [] : [othersInWords(others, { fleet })];
  const details = (one: ClientUse): string => requestsInWords(requestsOf([one]));
  return [...(clients.length > 0 ? [clientList(clients, now, details)] : []), ...othersText].join('; and ');
}

/** `fleet`: undefined if the gateway is not part of a fleet. Then all tags in the ledger have the same salt. */
interface OthersContext {
  readonly fleet?: unknown;
}

/** `100,507 requests of clients beyond usage.max_clients, which are counted together as other clients` */
export function othersInWords(others: ClientUse, { fleet }: OthersContext): string {
  const salt = fleet === undefined ? '' : ', or with tags of another salt';
  return `${plural(requestsOf([others]), 'request')} of clients beyond usage.max_clients${salt}, which are counted together as other clients`;
}

/** `7: GET /drinks (1,204), GET /old (3)`: the number of routes, and the most used ones. Safe to print. */
export function routesInWords(routeCount: number, mostUsed: readonly { route: string; requests: number }[]): string {
  const words = mostUsed.slice(0, maxListedRoutes).map(({ route, requests }) => {
    return `${printableExcerpt(route, 40)} (${withCommas(requests)})`;
  });
  return words.length === 0 ? String(routeCount) : `${routeCount}: ${words.join(', ')}`;
}

/** `clients: ios-app (last call 3 h ago, 1,204 requests)`; undefined: there are none. */
export function clientsInWords(uses: readonly ClientUse[], now: number): string | undefined {
  if (uses.length === 0) return undefined;
  const [clients, others] = [uses.filter(isSingleClient), uses.find((one) => !isSingleClient(one))];
  return `clients: ${clientsAndOthers({ clients, others, now })}`;
}
