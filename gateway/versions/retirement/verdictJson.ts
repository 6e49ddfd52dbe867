import { dayText, isoText, isoTextOrNull } from '../../shared/instant.ts';
import { remarkJson } from '../../usage/evidence/remark.ts';
import type { PausingClients } from '../../usage/report/trend.ts';
import { clientJson, countsJson } from '../../usage/report/usagePage.ts';
import type { PastClient } from '../../usage/usageQueries.ts';
import { countedUses, refusedOf, requestsOf, shareOf } from './countedUsage.ts';
import type { RetirementFacts, SuccessorFacts } from './facts.ts';
import type { Verdict } from './verdict.ts';

// A list has at most this many entries. For lists of clients that decide the answer, `*_count` has the full number.
const maxListed = 100;

/** The body of `GET /api/versions/v1/retirement`. `route`: only in a verdict about a route. */
export function verdictJson({ question, answer, known, reasons, notes, facts }: Verdict) {
  const { version, route, now } = facts;
  const subject = route === undefined ? { version } : { version, route: `${route.method} ${route.path}` };
  return {
    ...subject,
    question,
    answer,
    known,
    asked_at: isoText(now),
    reasons: reasons.map(remarkJson),
    notes: notes.map(remarkJson),
    facts: factsJson(facts),
  };
}

export type VerdictJson = Omit<ReturnType<typeof verdictJson>, 'route'> & { readonly route?: string };

function factsJson(facts: RetirementFacts) {
  const { clients, trend } = facts;
  const uses = countedUses(facts);
  return {
    stage: facts.stage,
    deprecation: isoTextOrNull(facts.deprecation),
    sunset: isoTextOrNull(facts.sunset),
    quiet: facts.quiet,
    since: isoText(facts.evidence.since),
    max_share: facts.maxShare,
    covered_since: isoTextOrNull(facts.evidence.coveredSince),
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
      zero: trend.zero === undefined ? null : dayText(trend.zero),
      // Clients with pauses so long that no end can be predicted; null: there are none.
      pausing: trend.pausing ? pausingJson(trend.pausing) : null,
      days: trend.days.map(({ at, requests }) => ({ at: isoText(at), requests })),
    },
    routes_without_counterpart: facts.lostRoutes.slice(0, maxListed).map(routeJson),
    routes_missing_in_successor: facts.missingRoutes.slice(0, maxListed).map(({ observed, ...one }) => ({
      ...routeJson(one),
      successor_route: observed.route,
      status: observed.status,
      observed_since: isoText(observed.since),
      observed_last: isoText(observed.last),
    })),
    // Neither `moved` nor the contracts say whether the successor has them.
    routes_with_unknown_counterpart: facts.routesNotKnown.slice(0, maxListed).map(({ route }) => ({ route })),
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
    first: isoTextOrNull(first),
    last: isoText(last),
    usual_pause: usualPause ?? null,
  };
}

function pausingJson({ count, shortest, longest, expectedUntil }: PausingClients) {
  return {
    count,
    shortest_pause: shortest,
    longest_pause: longest,
    expected_until: isoText(expectedUntil),
  };
}

function routeJson({ route, requests, failing, clients, last, inContract }: RetirementFacts['lostRoutes'][number]) {
  return { route, requests, failing, clients, last: isoText(last), in_contract: inContract ?? null };
}

function successorJson({ version, targets, healthy, notTried }: SuccessorFacts) {
  return { version, health: healthOf({ targets, healthy, notTried }), targets, healthy, not_tried: notTried };
}

/** `not tried`: no target fails, but not all were tried. */
function healthOf({
  targets,
  healthy,
  notTried,
}: Omit<SuccessorFacts, 'version'>): 'unknown' | 'healthy' | 'not tried' | 'down' | 'degraded' {
  if (targets === 0) return 'unknown';
  if (healthy === targets) return 'healthy';
  if (healthy + notTried === targets) return 'not tried';
  return healthy + notTried === 0 ? 'down' : 'degraded';
}
