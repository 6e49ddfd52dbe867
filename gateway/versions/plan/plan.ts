import { apiOf, segmentsOfIds } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { versionId } from '../../routing/requestTarget.ts';
import type { Instant } from '../../shared/instant.ts';
import type { LiveFacts } from '../../usage/evidence/callEvidence.ts';
import type { Remark, RemarkJson } from '../../usage/evidence/remark.ts';
import type { SizePart } from '../../usage/evidence/requestSizes.ts';
import { otherClients } from '../../usage/usageRow.ts';
import { brownoutAt } from '../lifecycle/brownouts.ts';
import { runningWaivers, type Stage, stageOf, stageWithWaivers } from '../lifecycle/stage.ts';
import { BrownoutScope } from '../restrictions/brownout.ts';

/**
 * The ways in which a configuration answers a request that names a version. `heading`: the heading of the column in tables. A new
 * way, such as a refusal of some clients, must be added here and to `plannedAnswer`.
 */
export const plannedAnswers = {
  served: { heading: 'served', words: 'stays served', isRefusal: false },
  waived: { heading: 'waived', words: 'is served by a waiver', isRefusal: false },
  frozen: { heading: '403', words: 'is answered 403', isRefusal: true },
  brownout: { heading: 'brownout', words: 'is refused in a brownout', isRefusal: true },
  retired: { heading: '410', words: 'is answered 410', isRefusal: true },
  not_adapted: {
    heading: 'not adapted',
    words: 'is answered 410, because its adapter lacks the route',
    isRefusal: true,
  },
  unknown_version: { heading: '404', words: 'is answered 404', isRefusal: true },
} as const satisfies Record<string, { readonly heading: string; readonly words: string; readonly isRefusal: boolean }>;

export type PlannedAnswer = keyof typeof plannedAnswers;

export const plannedAnswerNames = Object.keys(plannedAnswers) as PlannedAnswer[];

/** The properties of a request on which the answer depends. */
export interface PlannedRequest {
  /** The path segment: `v1`. */
  readonly version: string;
  /** Undefined: the request stands for all clients that no rule names. */
  readonly client?: string;
  /** False: an adapter serves the version without the route of the request. */
  readonly isAdapted?: boolean;
}

/**
 * Returns how a gateway with `snapshot` answers the request at the instant `at` (epoch ms). It uses the functions that the
 * pipeline uses: `versionId`, by which `findVersion` finds a version, and `stageOf`, by which `refuseRetired` decides.
 * Retirement, freeze and brownout do not refuse a client with a waiver.
 *
 * `basePath` is the base path under which the requests were recorded. `newClients`: version → the clients that
 * its freeze refuses, because they did not call the version before the freeze.
 */
export function plannedAnswer(
  { version: name, client = '', isAdapted = true }: PlannedRequest,
  snapshot: Pick<Snapshot, 'gateway' | 'versions' | 'apis'>,
  basePath: string,
  at: number,
  newClients: ReadonlyMap<string, ReadonlySet<string>> = new Map(),
): PlannedAnswer {
  const version = versionAt(name, snapshot, basePath);
  if (version === undefined) return 'unknown_version';
  const isWaived = version.waivers.some(({ clients, until }) => at < until && clients.includes(client));
  const isRetired = stageOf(version, at) === 'retired';
  if (isRetired && !isWaived) return 'retired';
  const answerIfNotRefused = !isAdapted ? 'not_adapted' : isRetired ? 'waived' : 'served';
  if (isWaived) return answerIfNotRefused;
  if (newClients.get(version.name)?.has(client)) return 'frozen';
  const window = brownoutAt(version.brownouts, at);
  if (window === undefined) return answerIfNotRefused;
  // `other clients` are unknown, so any brownout may refuse them. A request without a client stands for all others.
  if (client === otherClients) return window.clientShare > 0 ? 'brownout' : answerIfNotRefused;
  if (client === '') return window.clientShare === 1 ? 'brownout' : answerIfNotRefused;
  return new BrownoutScope(version, window, apiOf(version.name, snapshot).brownout.spared).includesClient(client)
    ? 'brownout'
    : answerIfNotRefused;
}

function versionAt<One>(
  name: string,
  { versions, gateway, apis }: Pick<Snapshot, 'gateway' | 'apis'> & { readonly versions: ReadonlyMap<string, One> },
  basePath: string,
): One | undefined {
  return versions.get(versionId(`${basePath}/${name}`, gateway.basePath, segmentsOfIds({ apis })));
}

/**
 * Whether a gateway with `snapshot` serves any client of a version. A retired version serves clients with a waiver. A brownout does not
 * count, because it ends by itself. `basePath`, `at`: as of `plannedAnswer`.
 */
export function servesAnyone(
  name: string,
  snapshot: Pick<Snapshot, 'gateway' | 'versions' | 'apis'>,
  basePath: string,
  at: number,
): boolean {
  const version = versionAt(name, snapshot, basePath);
  return version !== undefined && stageWithWaivers(version, at) !== 'retired';
}

/**
 * Whether the candidate may refuse clients of a version that the running configuration serves, whoever they are. Not asked about
 * freezes and adapters.
 */
export function mayCutOff(
  name: string,
  { candidate, running, at, now }: Pick<PlanQuery, 'candidate' | 'running' | 'at' | 'now'>,
  basePath: string,
): boolean {
  if (running !== undefined && !servesAnyone(name, running, basePath, now)) return false;
  const [version, current] = [versionAt(name, candidate, basePath), running && versionAt(name, running, basePath)];
  if (version === undefined) return true;
  const window = brownoutAt(version.brownouts, at);
  if (window !== undefined && window.at !== (current && brownoutAt(current.brownouts, now)?.at)) return true;
  if (stageOf(version, at) !== 'retired') return false;
  if (current === undefined || stageOf(current, now) !== 'retired') return true;
  const stillServed = new Set(runningWaivers(version, at).flatMap(({ clients }) => clients));
  return runningWaivers(current, now).some(({ clients }) => clients.some((client) => !stillServed.has(client)));
}

/** The configuration with `retired: true` for one version. Undefined: it does not have this version. */
export function withRetired(snapshot: Snapshot, name: string): Snapshot | undefined {
  const version = snapshot.versions.get(name);
  if (version === undefined) return undefined;
  const retired = { ...version, retired: true };
  const sortedVersions = snapshot.sortedVersions.map((one) => (one === version ? retired : one));
  return { ...snapshot, sortedVersions, versions: new Map(sortedVersions.map((one) => [one.name, one])) };
}

export interface PlanQuery {
  /** The configuration that would be applied. */
  readonly candidate: Snapshot;
  /** The configuration that is applied now; undefined: unknown. */
  readonly running: Snapshot | undefined;
  /** The plan counts the requests from this instant to `now`, epoch ms. */
  readonly since: number;
  readonly now: number;
  /** The instant for which the stages of the candidate are computed, epoch ms. */
  readonly at: number;
  /** What the running gateways know, by version. Absent: none was asked. */
  readonly live?: ReadonlyMap<string, LiveFacts>;
  /** Further remarks of the caller. */
  readonly remarks?: readonly Remark[];
}

/** Requests by the answer that they would get. */
export interface PlannedCounts {
  readonly requests: number;
  /** Requests that a backend answered. */
  readonly served: number;
  /** The requests in `served`, and those that were refused because of their version, by the answer that the candidate would give. */
  readonly answers: Readonly<Record<PlannedAnswer, number>>;
  /** All other requests. The gateway answered them itself for a reason that does not depend on the version, such as 400 or 503. */
  readonly other: number;
  /** Requests that a backend answered, that the candidate refuses, and that the running configuration does not refuse. */
  readonly lost: number;
}

/** A version of the candidate or of the ledger. */
export interface PlannedVersion extends PlannedCounts {
  /** The path segment: `v1`. */
  readonly version: string;
  /** Its stage under the candidate. */
  readonly stage: Stage | 'removed';
  readonly answer: PlannedAnswer;
  /** True if the running configuration already refuses the version. */
  readonly already: boolean;
  /** The number of clients, without `other clients`. */
  readonly clients: number;
}

export interface PlannedClient extends PlannedCounts {
  readonly client: string;
  readonly name: string | null;
  /** The last request of any kind. */
  readonly last: Instant;
  /** True if every request to the versions that it loses was answered 4xx. */
  readonly only_fails: boolean;
  /** The versions that it loses. */
  readonly loses: readonly string[];
  /** The routes of these versions that it used most. Only for the clients with the most requests. */
  readonly top_routes: readonly { readonly version: string; readonly route: string; readonly requests: number }[];
}

/** The status of a request that exceeds a limit, the setting of the limit, and the words for what it limits. */
export const sizeAnswers = {
  body: { status: 413, setting: 'limits.body', words: 'largest body' },
  target: { status: 414, setting: 'gateway.limits.url', words: 'longest request target' },
  head: { status: 431, setting: 'gateway.limits.head', words: 'largest head' },
} as const satisfies Record<SizePart, { readonly status: number; readonly setting: string; readonly words: string }>;

/** Requests of one route that are answered now, and that the candidate refuses for their size. The ledger does not count them. */
export interface PlannedTooLarge {
  readonly version: string;
  readonly route: string;
  readonly part: SizePart;
  readonly status: number;
  readonly setting: string;
  /** The limit of the candidate, bytes. */
  readonly limit: number;
  /** The largest of them, bytes, and its day. */
  readonly largest: number;
  readonly day: string;
  /** False: it is larger than the present limit, too. Whether smaller ones are larger than the limit of the candidate is not known. */
  readonly known: boolean;
}

/**
 * Which clients would lose requests if the candidate were applied. The response body of `POST /api/plan`.
 */
export interface Plan {
  readonly kind: 'plan';
  readonly at: Instant;
  readonly since: Instant;
  readonly until: Instant;
  /** Since when every call is in the ledger; null: it is empty. */
  readonly covered_since: Instant | null;
  /** The same, within the period: `since`, or later. */
  readonly counted_since: Instant | null;
  readonly summary: string;
  /** False if calls may be missing that the candidate would refuse, or were not answered. The losses below are then a lower bound. */
  readonly known: boolean;
  /** The exact sums over all clients that are not ignored. */
  readonly total: PlannedCounts;
  /**
   * Further requests that may be lost: the ledger counts them under a name that stands for several routes, and an adapter serves
   * only some of these. They count as served.
   */
  readonly may_lose: number;
  /** Requests that the candidate would refuse, and that no backend has answered: 502, 503, 504, 410, or the client disconnected. */
  readonly unanswered: number;
  /** The largest first, those that are known before the others. At most 100. The requests of ignored clients count. */
  readonly too_large: readonly PlannedTooLarge[];
  /** Lowest major first. Ignored clients are not counted. */
  readonly versions: readonly PlannedVersion[];
  /** Without `other clients`. */
  readonly client_count: number;
  readonly losing_count: number;
  /** True if `other clients` lose something: they are an unknown number of clients. */
  readonly others_lose: boolean;
  /** By loss, then by requests, in descending order. At most 100. */
  readonly clients: readonly PlannedClient[];
  /** The clients of `retire.ignore_clients`. They do not count as losing. */
  readonly ignored: readonly PlannedClient[];
  readonly notes: readonly RemarkJson[];
}

/** True if a client that is not ignored would lose something, or may. */
export function hasLoss({
  total,
  may_lose: mayLose,
  too_large: tooLarge,
}: Pick<Plan, 'total' | 'may_lose'> & Partial<Pick<Plan, 'too_large'>>): boolean {
  return total.lost > 0 || mayLose > 0 || tooLarge?.some(({ known }) => known) === true;
}
