import { type Admin, isRecord, stranger } from './admin.ts';

/** What `/api/status` answers. Instants are RFC 3339, or null. */
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
  /** null: no ledger is kept. */
  readonly usage?: { readonly problem: string | null; readonly held_rows: number } | null;
  /** Absent: an earlier release answers. */
  readonly workers?: readonly RunningWorker[];
  readonly versions: readonly RunningVersion[];
}

export interface RunningWorker {
  readonly pid: number;
  /** null: it answers. */
  readonly unresponsive_since?: string | null;
}

export interface RunningVersion {
  /** The segment: `v1`. */
  readonly version: string;
  /** A stage of the lifecycle, or `removed`. */
  readonly stage: string;
  readonly deprecation: string | null;
  readonly sunset: string | null;
  readonly in_flight: number;
  readonly waiting: number;
  readonly last_served: string | null;
  readonly safe_to_stop: boolean;
  /** No target of it can be reached. */
  readonly unreachable: boolean;
  /** It is also deprecated and has a successor that can be reached. */
  readonly stopped_before_retired: boolean;
  readonly targets: readonly RunningTarget[];
}

export interface RunningTarget {
  readonly url: string;
  readonly health: string;
  readonly ejected_until: string | null;
  /** null: nobody has asked it yet. */
  readonly reachable: boolean | null;
  readonly last_error?: string | null;
  readonly last_error_at?: string | null;
  readonly in_flight: number;
  readonly connections: number;
}

/** @param patience ms @throws UnansweredError */
export async function readStatus(admin: Admin, name: string, patience?: number): Promise<RunningStatus> {
  const answer = await admin.get('/api/status', patience);
  if (!isStatus(answer)) throw stranger(name);
  return answer;
}

// Enough to tell a gateway from anything else that answers there; the rest is of one making with this program.
function isStatus(answer: unknown): answer is RunningStatus {
  if (!isRecord(answer)) return false;
  const { config, versions } = answer;
  return isRecord(config) && hasTexts(config, 'fingerprint', 'loaded_at', 'trigger') && isListOfVersions(versions);
}

function isListOfVersions(list: unknown): boolean {
  if (!Array.isArray(list)) return false;
  return list.every((one) => isRecord(one) && hasTexts(one, 'version', 'stage') && Array.isArray(one['targets']));
}

function hasTexts(record: Readonly<Record<string, unknown>>, ...names: string[]): boolean {
  return names.every((name) => typeof record[name] === 'string');
}

/** A line about each worker that does not answer: what it holds now is unknown. */
export function unresponsiveWorkers({ workers = [] }: RunningStatus): string[] {
  return workers
    .filter(({ unresponsive_since }) => typeof unresponsive_since === 'string')
    .map(({ pid, unresponsive_since }) => `worker ${pid} has not answered since ${unresponsive_since}`);
}
