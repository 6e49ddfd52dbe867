import { apiOf, totalsOfApi } from '../../config/api.ts';
import type { BrownoutSettings, BrownoutWindow } from '../../config/clientRules.ts';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import { percent } from '../../shared/text.ts';
import { evidenceOf } from '../../usage/callFacts.ts';
import type { LiveFacts } from '../../usage/evidence/callEvidence.ts';
import { recentMs } from '../../usage/evidence/recentPeriod.ts';
import type { Remark } from '../../usage/evidence/remark.ts';
import type { RequestCounts } from '../../usage/observability/recentTraffic.ts';
import { type ServingReport, targetCounts } from '../../usage/observability/report.ts';
import type { UsageQueries } from '../../usage/usageQueries.ts';
import { otherClients, otherRoute } from '../../usage/usageRow.ts';
import { BrownoutScope } from './brownout.ts';

/** Requests of the last week, from the ledger. */
export interface BrownoutEstimate {
  /** Why calls of that week may be missing. */
  readonly missing: readonly Remark[];
  /** Requests to the version. */
  readonly requests: number;
  /** Requests to the version by clients that have no name and that brownouts may refuse. */
  readonly unnamed: number;
  /** Requests that the brownout would have refused. An upper bound. */
  readonly refused: number;
  /** Requests to all versions of its API in routes.yaml. */
  readonly allRequests: number;
}

/** Undefined: the ledger cannot be read, and `queries.problem` has the reason. */
export async function estimateBrownout(
  queries: Pick<UsageQueries, 'byClient' | 'requests' | 'routes' | 'coverage' | 'problem'>,
  snapshot: Pick<Snapshot, 'apis' | 'versions'>,
  version: Version,
  window: BrownoutWindow,
  now: number,
  live: LiveFacts | undefined,
): Promise<BrownoutEstimate | undefined> {
  const since = now - recentMs;
  const { spared } = apiOf(version.name, snapshot).brownout;
  const scope = new BrownoutScope(version, window, spared);
  const sparedClients = new Set(spared);
  const clients = await queries.byClient(version.name, since);
  const routes = window.routes && (await queries.routes(version.name, since));
  const totals = totalsOfApi(version.name, await queries.requests(since), snapshot);
  const { missing, pending } = await evidenceOf(queries, { version: version.name, now, quiet: recentMs, since }, live);
  // Read last: a query that failed returned no rows, as if no client had called.
  if (queries.problem !== undefined) return undefined;
  const refusedByClient = clients.map(({ client, requests }) => {
    // The ledger does not tell the `other clients` apart. The brownout probably refuses `clientShare` of their requests.
    if (client === otherClients) return requests * window.clientShare;
    return scope.includesClient(client) ? requests : 0;
  });
  const refusedByRoute = routes?.map(({ route, requests }) => {
    const [method = '', path = ''] = route.split(' ', 2);
    return route === otherRoute || scope.includesRoute(method, path) ? requests : 0;
  });
  // An upper bound if a window is limited to some clients and routes, because the routes of each client are not queried.
  const refused = Math.min(sum(refusedByClient), refusedByRoute ? sum(refusedByRoute) : Number.POSITIVE_INFINITY);
  return {
    missing: [...missing, ...pending],
    requests: sum(clients.map(({ requests }) => requests)),
    unnamed: sum(clients.map((one) => (one.name === undefined && !sparedClients.has(one.client) ? one.requests : 0))),
    refused,
    allRequests: sum(totals.map(({ requests }) => requests)),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** Why the brownout must not start, by the requests of the last week. Undefined: it may start. */
export function reasonToSkip(
  { missing, requests, unnamed, refused, allRequests }: BrownoutEstimate,
  settings: Pick<BrownoutSettings, 'unnamed' | 'maxShare'>,
): string | undefined {
  // With missing calls, the shares below would be too small.
  if (missing.length > 0)
    return `requests of the last week may be missing: ${missing.map(({ text }) => text).join(' ')}`.replace(/\.$/, '');
  const unnamedShare = requests === 0 ? 0 : unnamed / requests;
  if (unnamedShare > settings.unnamed)
    return `clients without a name in usage.names made ${percent(unnamedShare)} of the requests of the last week, more than brownout.unnamed (${percent(settings.unnamed)})`;
  const refusedShare = allRequests === 0 ? 0 : refused / allRequests;
  if (refusedShare > settings.maxShare)
    return `it would refuse about ${percent(refusedShare)} of the requests to all versions, more than brownout.max_share (${percent(settings.maxShare)})`;
  return undefined;
}

/** Whether the missing requests may be known at `at`, epoch ms, such as those of a gateway that is heard again. */
export function mayBeKnownAt({ missing }: BrownoutEstimate, at: number): boolean {
  return missing.every(({ until }) => until === undefined || until <= at);
}

/**
 * Whether the version has a target that clients can move to. A target that was not tried yet counts: if it fails, the brownout ends
 * after a minute.
 */
export function hasUsableTarget(report: Pick<ServingReport, 'versions'>, name: string): boolean {
  const { healthy, notTried } = targetCounts(report, name);
  return healthy + notTried > 0;
}

// The period of the error share. A single error among few requests is in the period for less than `longestFailureMs`,
// so it cannot end the brownout.
const errorPeriodMs = 30_000;
const longestFailureMs = 60_000;
const largestErrorShare = 0.05;

interface Sample extends RequestCounts {
  /** Epoch ms. */
  readonly at: number;
}

/** Watches the successor of a version during a brownout, because clients should move to it. */
export class SuccessorWatch {
  #samples: Sample[] = [];
  #failingSince: number | undefined;

  /** The last sample, epoch ms; undefined: there is none. */
  get sampledAt(): number | undefined {
    return this.#samples.at(-1)?.at;
  }

  /**
   * Adds the counters of the successor as of `at`, epoch ms. @returns why the brownout must end: more than 5% of its answers
   * in the last half minute were 5xx, or it had no healthy target, and this has lasted for a minute. Undefined: it may go on.
   */
  add(at: number, counts: RequestCounts, isHealthy: boolean): string | undefined {
    const lastSample = this.#samples.at(-1);
    // The counters are smaller if a process did not answer this time, and the clock may be set back.
    if (lastSample && (counts.requests < lastSample.requests || at < lastSample.at)) this.#samples = [];
    this.#samples.push({ at, ...counts });
    // The first sample is the latest one that is at least as old as the period, so that the share covers the whole period.
    while ((this.#samples[1]?.at ?? at) <= at - errorPeriodMs) this.#samples.shift();
    const errorShare = this.#errorShare(counts);
    if (isHealthy && errorShare <= largestErrorShare) {
      this.#failingSince = undefined;
      return undefined;
    }
    this.#failingSince = Math.min(this.#failingSince ?? at, at);
    if (at - this.#failingSince < longestFailureMs) return undefined;
    return isHealthy ? `answers ${percent(errorShare)} of its requests with 5xx` : 'has no healthy target';
  }

  #errorShare({ requests, errors }: RequestCounts): number {
    const [firstSample] = this.#samples;
    if (firstSample === undefined || requests === firstSample.requests) return 0;
    return (errors - firstSample.errors) / (requests - firstSample.requests);
  }
}
