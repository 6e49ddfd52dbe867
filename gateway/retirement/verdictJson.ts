import { clientJson } from '../usage/report/usagePage.ts';
import type { PastClient } from '../usage/usageQueries.ts';
import {
  countedUses,
  type RetirementFacts,
  type RouteInContract,
  refusedOf,
  requestsOf,
  type SuccessorFacts,
  shareOf,
} from './facts.ts';
import type { Verdict } from './verdict.ts';

// However many there are, the page and the terminal show the biggest.
const mostClients = 100;

/** A verdict as `/api/versions/v1/retirement` answers it: instants as RFC 3339. */
export function verdictJson({ answer, reasons, notes, facts }: Verdict) {
  const { version, now } = facts;
  return { version, answer, asked_at: new Date(now).toISOString(), reasons, notes, facts: servedFacts(facts) };
}

export type VerdictJson = ReturnType<typeof verdictJson>;

function servedFacts(facts: RetirementFacts) {
  const { clients, trend } = facts;
  const asked = countedUses(facts);
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
    refused: refusedOf(facts.refused),
    all_requests: facts.allRequests,
    share: shareOf(facts),
    client_count: clients.length,
    clients: clients.slice(0, mostClients).map(clientJson),
    failing_count: facts.failing.length,
    failing: facts.failing.slice(0, mostClients).map(clientJson),
    infrequent_count: facts.infrequent.length,
    infrequent: facts.infrequent.slice(0, mostClients).map(servedPast),
    gone_count: facts.gone.length,
    gone: facts.gone.slice(0, mostClients).map(servedPast),
    refused_count: facts.refused.length,
    refused_clients: facts.refused.slice(0, mostClients).map(clientJson),
    ignored: facts.ignored.slice(0, mostClients).map(clientJson),
    new_clients: facts.newClients?.slice(0, mostClients).map(clientJson) ?? null,
    trend: {
      kind: trend.kind,
      per_day: trend.perDay ?? null,
      zero: trend.zero === undefined ? null : new Date(trend.zero).toISOString().slice(0, 10),
      days: trend.days.map(({ at, requests }) => ({ at: new Date(at).toISOString(), requests })),
    },
    routes_without_counterpart: facts.lost.slice(0, mostClients).map(servedRoute),
    failing_routes: facts.failingRoutes.slice(0, mostClients).map(servedRoute),
    in_flight: facts.inFlight,
    waiting: facts.waiting,
    successor: facts.successor ? servedSuccessor(facts.successor) : null,
  };
}

function servedPast({ client, name, requests, first, last, usualPause }: PastClient) {
  return {
    client,
    name: name ?? null,
    requests,
    first: instant(first),
    last: new Date(last).toISOString(),
    usual_pause: usualPause ?? null,
  };
}

function servedRoute({ route, requests, failing, clients, last, inContract }: RouteInContract) {
  return { route, requests, failing, clients, last: new Date(last).toISOString(), in_contract: inContract ?? null };
}

function servedSuccessor({ version, targets, healthy }: SuccessorFacts) {
  const health = targets === 0 ? 'unknown' : healthy === targets ? 'healthy' : healthy === 0 ? 'down' : 'degraded';
  return { version, health, targets, healthy };
}

function instant(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
