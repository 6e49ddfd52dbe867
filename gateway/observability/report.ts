import type { MetricValues } from './exposition.ts';

/** What one process serves right now; several of them add up to one. */
export interface ServingReport {
  /** Every version that is or was served since the start. */
  readonly versions: readonly VersionReport[];
  readonly workers: readonly WorkerReport[];
  /** What was counted by processes that do not answer, or no longer. */
  readonly absent?: readonly (readonly MetricValues[])[] | undefined;
}

export interface WorkerReport {
  readonly pid: number;
  /** Epoch ms. */
  readonly since: number;
  /** Since when it has not answered, epoch ms: the report has its last answer. Undefined: it answers. */
  readonly unresponsiveSince?: number | undefined;
  /** What it has counted. */
  readonly metrics?: readonly MetricValues[] | undefined;
}

export interface VersionReport {
  /** The segment: `v1`. */
  readonly name: string;
  /** Requests and streams that are under way. */
  readonly inFlight: number;
  /** Requests that wait because a limit is reached. */
  readonly waiting: number;
  /** When a request or stream was last under way, epoch ms: now while one is. Undefined: never since the start. */
  readonly lastServed: number | undefined;
  /** When it was last used, as the verdict counts it, or null for never; undefined: the ledger cannot say. */
  readonly lastUsed?: number | null | undefined;
  /** When the last request was answered 410, epoch ms; undefined: never since the start. */
  readonly lastRefused?: number | undefined;
  readonly targets: readonly TargetReport[];
}

export interface TargetReport {
  readonly url: string;
  readonly inFlight: number;
  readonly connections: number;
  /** False after a connection that could not be made, until one is. */
  readonly reachable: boolean | undefined;
  /** `removed`: it is in the file no more, and has something to finish. */
  readonly health: 'healthy' | 'unhealthy' | 'ejected' | 'removed';
  /** Epoch ms; undefined: not ejected. */
  readonly ejectedUntil: number | undefined;
  /** How often it was ejected since the start. */
  readonly ejections?: number;
  readonly lastError?: TargetError | undefined;
}

/** The last failure that was a target's own, and when, epoch ms. It stays known when the target is well again. */
export interface TargetError {
  readonly message: string;
  readonly at: number;
}

/** The report of a gateway that consists of several processes. */
export function addUp(reports: readonly ServingReport[]): ServingReport {
  const names = [...new Set(reports.flatMap(({ versions }) => versions.map(({ name }) => name)))];
  return {
    versions: names.map((name) =>
      reports.flatMap(({ versions }) => versions.filter((one) => one.name === name)).reduce(addVersions),
    ),
    workers: reports.flatMap(({ workers }) => workers),
  };
}

/** What is left of it when all that it tells of is over. */
export function afterwards({ versions }: ServingReport): ServingReport {
  return { versions: versions.map((one) => ({ ...one, inFlight: 0, waiting: 0, targets: [] })), workers: [] };
}

function addVersions(a: VersionReport, b: VersionReport): VersionReport {
  const targets = [...a.targets];
  for (const other of b.targets) {
    const at = targets.findIndex(({ url }) => url === other.url);
    const known = targets[at];
    if (known) targets[at] = addTargets(known, other);
    else targets.push(other);
  }
  return {
    name: a.name,
    inFlight: a.inFlight + b.inFlight,
    waiting: a.waiting + b.waiting,
    lastServed: later(a.lastServed, b.lastServed),
    lastRefused: later(a.lastRefused, b.lastRefused),
    targets,
  };
}

/** As seen by the process that sees most of it: each finds out for itself whether a target is well. */
function addTargets(a: TargetReport, b: TargetReport): TargetReport {
  return {
    url: a.url,
    inFlight: a.inFlight + b.inFlight,
    connections: a.connections + b.connections,
    reachable: a.reachable || b.reachable || (a.reachable ?? b.reachable),
    health: a.health === 'healthy' ? b.health : a.health,
    ejectedUntil: later(a.ejectedUntil, b.ejectedUntil),
    ejections: (a.ejections ?? 0) + (b.ejections ?? 0),
    lastError: newer(a.lastError, b.lastError),
  };
}

function later(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : Math.max(a, b ?? a);
}

function newer(a: TargetError | undefined, b: TargetError | undefined): TargetError | undefined {
  return a && b ? (a.at < b.at ? b : a) : (a ?? b);
}
