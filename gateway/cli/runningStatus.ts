import { type AdminClient, isRecord, type JsonObject, notAGateway } from './adminClient.ts';

/** The response of `/api/status`. Times are RFC 3339 or null. */
export interface RunningStatus {
  readonly config: {
    readonly fingerprint: string;
    readonly generation: number;
    readonly loaded_at: string;
    readonly trigger: string;
    readonly last_failure: {
      readonly at: string;
      readonly trigger: string;
      readonly reasons: readonly string[];
    } | null;
  };
  /** null: usage is not recorded. */
  readonly usage?: { readonly problem: string | null; readonly held_rows: number } | null;
  /** Absent in earlier releases. */
  readonly workers?: readonly RunningWorker[];
  readonly versions: readonly RunningVersion[];
}

export interface RunningWorker {
  readonly pid: number;
  /** null: the worker responds. */
  readonly unresponsive_since?: string | null;
}

export interface RunningVersion {
  /** The path segment: `v1`. */
  readonly version: string;
  /** A stage of the lifecycle, or `removed`. */
  readonly stage: string;
  readonly deprecation: string | null;
  readonly sunset: string | null;
  readonly in_flight: number;
  readonly waiting: number;
  readonly last_served: string | null;
  readonly safe_to_stop: boolean;
  /** None of its targets can be reached. */
  readonly unreachable: boolean;
  /** Unreachable, deprecated, and its successor is reachable. */
  readonly stopped_before_retired: boolean;
  readonly targets: readonly RunningTarget[];
}

export interface RunningTarget {
  readonly url: string;
  readonly health: string;
  readonly ejected_until: string | null;
  /** null: not contacted yet. */
  readonly reachable: boolean | null;
  readonly last_error?: string | null;
  readonly last_error_at?: string | null;
  readonly in_flight: number;
  readonly connections: number;
}

/** @param timeout ms @throws AdminError */
export async function readStatus(admin: AdminClient, name: string, timeout?: number): Promise<RunningStatus> {
  const answer = await admin.get('/api/status', timeout);
  if (!isStatus(answer)) throw notAGateway(name);
  return answer;
}

// Checks what tells a gateway from another server. A gateway of the same release has the other fields.
function isStatus(answer: unknown): answer is RunningStatus {
  if (!isRecord(answer)) return false;
  const { config, versions } = answer;
  return isRecord(config) && hasTexts(config, 'fingerprint', 'loaded_at', 'trigger') && isListOfVersions(versions);
}

function isListOfVersions(list: unknown): boolean {
  if (!Array.isArray(list)) return false;
  return list.every((one) => isRecord(one) && hasTexts(one, 'version', 'stage') && Array.isArray(one['targets']));
}

function hasTexts(record: JsonObject, ...names: string[]): boolean {
  return names.every((name) => typeof record[name] === 'string');
}

/** A line for each worker that does not respond; its current counts are unknown. */
export function unresponsiveWorkers({ workers = [] }: RunningStatus): string[] {
  return workers
    .filter(({ unresponsive_since }) => typeof unresponsive_since === 'string')
    .map(({ pid, unresponsive_since }) => `worker ${pid} has not answered since ${unresponsive_since}`);
}
