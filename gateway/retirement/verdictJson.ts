import { clientJson, countsJson } from '../usage/report/usagePage.ts';
import type { PastClient } from '../usage/usageQueries.ts';
import { countedUses, refusedOf, requestsOf, shareOf } from './countedUsage.ts';
import type { RetirementFacts, SuccessorFacts } from './facts.ts';
import type { Verdict } from './verdict.ts';

// A list has at most this many entries. For lists of clients that decide the answer, `*_count` has the full number.
const maxListed = 100;

/** The body of `GET /api/versions/v1/retirement`. Instants as RFC 3339. `route`: only in a verdict about a route. */
export function verdictJson({ answer, reasons, notes, facts }: Verdict) {
  const { version, route, now } = facts;
  const subject = route === undefined ? { version } : { version, route: `${route.method} ${route.path}` };
  return { ...subject, answer, asked_at: new Date(now).toISOString(), reasons, notes, facts: factsJson(facts) };
}

export type VerdictJson = Omit<ReturnType<typeof verdictJson>, 'route'> & { readonly route?: string };

function factsJson(facts: RetirementFacts) {
  const { clients, trend } = facts;
  const uses = countedUses(facts);
  return {
    stage: facts.stage,
    deprecation: instant(facts.deprecation),
    sunset: instant(facts.sunset),
    quiet: facts.quiet,
    since: new Date(facts.since).toISOString(),
    max_share: facts.maxShare,
    covered_since: instant(facts.coveredSince),
    problem: facts.problem ?? null,
    requests: requestsOf(uses),
    folded: facts.others?.requests ?? 0,
    // Requests that were counted without their route.
    ...(facts.route && { without_route: facts.withoutRoute }),
    refused: refusedOf(facts.refused),
    all_requests: facts.allRequests,
    share: shareOf(facts),
    client_count: clients.length,
    clients: clients.slice(0, maxListed).map(clientJson),
    failing_count: facts.failing.length,
    failing: facts.failing.slice(0, maxListed).map(clientJson),
    infrequent_count: facts.infrequent.length,
    infrequent: facts.infrequent.slice(0, maxListed).map(pastClientJson),
    gone_count: facts.gone.length,
    gone: facts.gone.slice(0, maxListed).map(pastClientJson),
    refused_count: facts.refused.length,
    refused_clients: facts.refused.slice(0, maxListed).map(clientJson),
    ignored: facts.ignored.slice(0, maxListed).map(clientJson),
    new_clients: facts.newClients?.slice(0, maxListed).map(countsJson) ?? null,
    trend: {
      kind: trend.kind,
      per_day: trend.perDay ?? null,
      // The day from which no requests are expected.
      zero: trend.zero === undefined ? null : new Date(trend.zero).toISOString().slice(0, 10),
      days: trend.days.map(({ at, requests }) => ({ at: new Date(at).toISOString(), requests })),
    },
    routes_without_counterpart: facts.lostRoutes.slice(0, maxListed).map(routeJson),
    failing_routes: facts.failingRoutes.slice(0, maxListed).map(routeJson),
    // Requests in flight are not counted by route.
    in_flight: facts.route ? null : facts.inFlight,
    waiting: facts.route ? null : facts.waiting,
    successor: facts.successor ? successorJson(facts.successor) : null,
  };
}

function pastClientJson({ client, name, requests, first, last, usualPause }: PastClient) {
  return {
    client,
    name: name ?? null,
    requests,
    first: instant(first),
    last: new Date(last).toISOString(),
    usual_pause: usualPause ?? null,
  };
}

function routeJson({ route, requests, failing, clients, last, inContract }: RetirementFacts['lostRoutes'][number]) {
  return { route, requests, failing, clients, last: new Date(last).toISOString(), in_contract: inContract ?? null };
}

function successorJson({ version, targets, healthy }: SuccessorFacts) {
  return { version, health: healthOf(targets, healthy), targets, healthy };
}

function healthOf(targets: number, healthy: number): 'unknown' | 'healthy' | 'down' | 'degraded' {
  if (targets === 0) return 'unknown';
  if (healthy === targets) return 'healthy';
  return healthy === 0 ? 'down' : 'degraded';
}

function instant(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
