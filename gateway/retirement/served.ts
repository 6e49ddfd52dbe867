import type { ClientUse } from '../usage/queries.ts';
import { askers, type RetirementFacts, requestsOf, type SuccessorFacts, shareOf } from './facts.ts';
import type { Verdict } from './verdict.ts';

// However many there are, the page and the terminal show the biggest.
const mostClients = 100;

/** A verdict as `/api/versions/v1/retirement` answers it: instants as RFC 3339. */
export function asServed({ answer, reasons, notes, facts }: Verdict) {
  const { version, now } = facts;
  return { version, answer, asked_at: new Date(now).toISOString(), reasons, notes, facts: servedFacts(facts) };
}

export type ServedVerdict = ReturnType<typeof asServed>;

function servedFacts(facts: RetirementFacts) {
  const { clients, trend } = facts;
  const asked = askers(facts);
  return {
    stage: facts.stage,
    deprecation: instant(facts.deprecation),
    sunset: instant(facts.sunset),
    quiet: facts.quiet,
    since: new Date(facts.since).toISOString(),
    max_share: facts.maxShare,
    covered_since: instant(facts.coveredSince),
    problem: facts.problem ?? null,
    requests: requestsOf(asked),
    folded: facts.others?.requests ?? 0,
    refused: asked.reduce((sum, { requests, served }) => sum + requests - served, 0),
    all_requests: facts.allRequests,
    share: shareOf(facts),
    client_count: clients.length,
    clients: clients.slice(0, mostClients).map(servedClient),
    ignored: facts.ignored.slice(0, mostClients).map(servedClient),
    new_clients: facts.newClients?.slice(0, mostClients).map(servedClient) ?? null,
    trend: {
      kind: trend.kind,
      per_day: trend.perDay ?? null,
      zero: trend.zero === undefined ? null : new Date(trend.zero).toISOString().slice(0, 10),
      days: trend.days.map(({ at, requests }) => ({ at: new Date(at).toISOString(), requests })),
    },
    routes_without_counterpart: facts.lost.slice(0, mostClients).map(({ route, requests, clients: asking, last }) => ({
      route,
      requests,
      clients: asking,
      last: new Date(last).toISOString(),
    })),
    in_flight: facts.inFlight,
    waiting: facts.waiting,
    successor: facts.successor ? servedSuccessor(facts.successor) : null,
  };
}

function servedClient({ client, name, requests, errors, served, first, last, routes, topRoutes }: ClientUse) {
  return {
    client,
    name: name ?? null,
    requests,
    errors,
    served,
    first: new Date(first).toISOString(),
    last: new Date(last).toISOString(),
    routes,
    top_routes: servedRoutes(topRoutes),
  };
}

/** As `/api/usage` has them, too. */
export function servedRoutes(routes: ClientUse['topRoutes']) {
  return routes.map(({ route, requests, last }) => ({ route, requests, last: new Date(last).toISOString() }));
}

function servedSuccessor({ version, targets, healthy }: SuccessorFacts) {
  const health = targets === 0 ? 'unknown' : healthy === targets ? 'healthy' : healthy === 0 ? 'down' : 'degraded';
  return { version, health, targets, healthy };
}

function instant(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
