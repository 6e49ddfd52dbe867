import { mergeRouteAnswers, type RouteAnswersReport } from '../evidence/missingRoutes.ts';
import type { Answer } from '../evidence/remark.ts';
import { latest, mergeContacts, type ObservedHealth, observedHealth } from '../evidence/targetHealth.ts';
import type { MetricValues } from './exposition.ts';

/** The current state of one process; the reports of several are merged into one. */
export interface ServingReport {
  /** Every version that was configured since the start. */
  readonly versions: readonly VersionReport[];
  readonly workers: readonly WorkerReport[];
  /** Version → epoch ms. Calls that ended since then may still be counted only in the memory of a process. */
  readonly unsentSince?: Readonly<Record<string, number>>;
  /** The routes that a version does not have, by the answers of its backend. Undefined: not observed. */
  readonly routeAnswers?: RouteAnswersReport | undefined;
  /** Metrics of processes that ended or do not answer. */
  readonly metricsOfAbsentProcesses?: readonly (readonly MetricValues[])[] | undefined;
}

export interface WorkerReport {
  readonly pid: number;
  /** Epoch ms. */
  readonly since: number;
  /** Since when the worker has not answered, epoch ms; the report then contains its last answer. Undefined: it answers. */
  readonly unresponsiveSince?: number | undefined;
  readonly metrics?: readonly MetricValues[] | undefined;
  /** The requests to each version that have ended since the process started. Undefined: the process does not answer. */
  readonly answers?: Readonly<Record<string, AnswerCounts>> | undefined;
}

/** The requests to a version, without those that a freeze, a brownout or the retirement refused on purpose. */
export interface AnswerCounts {
  readonly requests: number;
  /** Status → the lost requests that were answered with it, if there are any. */
  readonly lost: Readonly<Record<string, number>>;
}

export interface VersionReport {
  /** The path segment, `v1`. */
  readonly name: string;
  /** Open requests and streams. */
  readonly inFlight: number;
  /** Requests that wait because a limit is reached. */
  readonly waiting: number;
  /** When a request or stream was last in flight, epoch ms: now, if one still is in flight. Undefined: not since the start. */
  readonly lastInFlight: number | undefined;
  /** When the version was last used, by the rules of the retirement verdict. Null: never. Undefined: not known. */
  readonly lastUsed?: number | null | undefined;
  /** Whether it was used lately, by the same rules. Absent: the ledger was not read. */
  readonly inUse?: Answer | undefined;
  /** Since when the ledger has every call, epoch ms. Absent: the ledger is empty, or was not read. */
  readonly coveredSince?: number | undefined;
  /** When a request was last answered 410, epoch ms; undefined: not since the start. */
  readonly lastRefused?: number | undefined;
  readonly targets: readonly TargetReport[];
  /** The routes whose responses its adapter could not change. Undefined: there are none. */
  readonly adapterFailures?: readonly AdapterFailureReport[] | undefined;
  /** Requests that were answered 410, because its adapter does not serve their route. */
  readonly notAdapted?: number | undefined;
}

/** The failures of an adapter on one route, in the processes that run. */
export interface AdapterFailureReport {
  /** `GET /drinks/{id}` */
  readonly route: string;
  readonly count: number;
  /** The place in the body, as a JSON Pointer; of the last failure. */
  readonly pointer: string;
  /** When the adapter last failed on the route, epoch ms. */
  readonly at: number;
}

export interface TargetReport extends ObservedHealth {
  readonly url: string;
  readonly inFlight: number;
  readonly connections: number;
  /** Ejections since the start. */
  readonly ejections?: number;
  readonly lastError?: TargetError | undefined;
}

/** The last failure caused by a target, and when, epoch ms. It is kept after the target recovers. */
export interface TargetError {
  readonly message: string;
  readonly at: number;
}

/** What started a reload. */
export type Trigger = 'start' | 'file' | 'signal' | 'admin';

/** How the active configuration was loaded, and the last load that failed. Times in epoch ms. */
export interface ConfigStatus {
  readonly fingerprint: string;
  /** Starts at 1 and grows with each reload that changed something. */
  readonly generation: number;
  readonly loadedAt: number;
  readonly trigger: Trigger;
  /** Reloads since the start that were invalid or refused. */
  readonly failures?: number;
  /** The reasons in `guard.force` with which the guard accepted the configuration. */
  readonly forced: readonly string[];
  /**
   * The targets that a version had when it last took requests, by version. Its tombstone may name others, or none. Absent: nothing was
   * edited since the start.
   */
  readonly formerTargets?: ReadonlyMap<string, readonly { readonly url: string }[]>;
  readonly lastFailure:
    | { readonly at: number; readonly trigger: Trigger; readonly reasons: readonly string[] }
    | undefined;
}

/** Merges the reports of several processes into the report of the gateway. */
export function mergeReports(reports: readonly ServingReport[]): ServingReport {
  const names = [...new Set(reports.flatMap(({ versions }) => versions.map(({ name }) => name)))];
  return {
    versions: names.map((name) =>
      reports.flatMap(({ versions }) => versions.filter((one) => one.name === name)).reduce(mergeVersions),
    ),
    workers: reports.flatMap(({ workers }) => workers),
    unsentSince: earliestOf(reports.map(({ unsentSince = {} }) => unsentSince)),
    routeAnswers: mergeRouteAnswers(reports.flatMap(({ routeAnswers }) => routeAnswers ?? [])),
  };
}

/** The earliest instant of each version. */
export function earliestOf(instants: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const earliest: Record<string, number> = {};
  for (const one of instants)
    for (const [version, since] of Object.entries(one)) earliest[version] = Math.min(since, earliest[version] ?? since);
  return earliest;
}

function mergeVersions(a: VersionReport, b: VersionReport): VersionReport {
  const targets = [...a.targets];
  for (const other of b.targets) {
    const at = targets.findIndex(({ url }) => url === other.url);
    const sameTarget = targets[at];
    if (sameTarget) targets[at] = mergeTargets(sameTarget, other);
    else targets.push(other);
  }
  return {
    name: a.name,
    inFlight: a.inFlight + b.inFlight,
    waiting: a.waiting + b.waiting,
    lastInFlight: latest(a.lastInFlight, b.lastInFlight),
    lastRefused: latest(a.lastRefused, b.lastRefused),
    targets,
    adapterFailures: mergeFailures(a.adapterFailures, b.adapterFailures),
    notAdapted: (a.notAdapted ?? 0) + (b.notAdapted ?? 0),
  };
}

function mergeFailures(
  a: readonly AdapterFailureReport[] = [],
  b: readonly AdapterFailureReport[] = [],
): readonly AdapterFailureReport[] | undefined {
  const merged = new Map(a.map((one) => [one.route, one]));
  for (const other of b) {
    const sameRoute = merged.get(other.route);
    const latest = sameRoute && sameRoute.at > other.at ? sameRoute : other;
    merged.set(other.route, { ...latest, count: (sameRoute?.count ?? 0) + other.count });
  }
  return merged.size === 0 ? undefined : [...merged.values()];
}

/** Each process has its own contacts with a target. */
function mergeTargets(a: TargetReport, b: TargetReport): TargetReport {
  const merged = observedHealth(mergeContacts(a, b));
  // Workers apply a reload one after the other.
  const isRemoved = a.health === 'removed' && b.health === 'removed';
  return {
    url: a.url,
    inFlight: a.inFlight + b.inFlight,
    connections: a.connections + b.connections,
    ...merged,
    health: isRemoved ? 'removed' : merged.health,
    ejections: (a.ejections ?? 0) + (b.ejections ?? 0),
    lastError: newer(a.lastError, b.lastError),
  };
}

/** How many of the targets have which health, without removed ones. */
export interface TargetCounts {
  readonly targets: number;
  readonly healthy: number;
  readonly notTried: number;
}

export function targetCounts({ versions }: Pick<ServingReport, 'versions'>, version: string): TargetCounts {
  const reported = versions.find(({ name }) => name === version)?.targets ?? [];
  const targets = reported.filter(({ health }) => health !== 'removed');
  const withHealth = (wanted: ObservedHealth['health']): number =>
    targets.filter(({ health }) => health === wanted).length;
  return { targets: targets.length, healthy: withHealth('healthy'), notTried: withHealth('not tried') };
}

function newer(a: TargetError | undefined, b: TargetError | undefined): TargetError | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.at < b.at ? b : a;
}
