import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Instant } from '../../../shared/instant.ts';
import { type MetricValues, metricOf } from '../../../usage/observability/exposition.ts';

/** The shadow of a version, for operators. */
export interface ShadowStatus {
  readonly version: string;
  readonly to: string;
  /** `broken`: the version `to` fails, so no copies are sent for a while. `over`: `until` has passed. */
  readonly state: 'running' | 'broken' | 'stopped' | 'over';
  readonly until: Instant;
  /** Kind → outcome → number of copies since the start. `shadow`: copies to the version `to`. `control`: copies to the version itself. */
  readonly copies: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Reason → number of samples that were not sent or not compared for this reason, since the start. */
  readonly dropped: Readonly<Record<string, number>>;
}

/** The comparison of a version with its own contract, for operators. */
export interface DriftStatus extends Pick<ShadowStatus, 'version' | 'until'> {
  /** `over`: `until` has passed. */
  readonly state: 'running' | 'stopped' | 'over';
  /** The responses that were compared since the start. */
  readonly compared: number;
}

/** What an operator can stop: the copies of a version, or the comparison with its contract. */
export const comparisonKinds = ['shadow', 'drift'] as const;
export type ComparisonKind = (typeof comparisonKinds)[number];

export const comparisonNames = { shadow: 'shadow', drift: 'drift comparison' } as const;

/** The result of a stop. `isStored`: false if the stop ends with this process. */
export type ComparisonStop<Status> =
  | { readonly kind: 'stopped'; readonly status: Status; readonly isStored: boolean }
  | { readonly kind: 'nothing'; readonly reason: string };

/** The shadows and comparisons with contracts that an operator has stopped. Each has a key, which other settings change. Never throws. */
export class StoppedComparisons {
  readonly #file: string | undefined;
  readonly #notice: (line: string) => void;
  readonly #keys: Set<string>;

  /** `file`: keeps the stops over restarts; undefined: they end with this process. */
  constructor(file: string | undefined, notice: (line: string) => void) {
    this.#file = file;
    this.#notice = notice;
    this.#keys = readKeys(file);
  }

  get keys(): string[] {
    return [...this.#keys];
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  add(key: string): void {
    this.#keys.add(key);
  }

  /** Forgets the stops of settings that do not exist any more. */
  keepOnly(existing: readonly string[]): void {
    const forgotten = [...this.#keys].filter((key) => !existing.includes(key));
    for (const key of forgotten) this.#keys.delete(key);
    if (forgotten.length > 0) this.save();
  }

  /** @returns whether the stops survive a restart */
  save(): boolean {
    const file = this.#file;
    if (file === undefined) return false;
    // Written to another file that is then renamed, so that a crash never leaves half a file.
    const temporary = `${file}.${randomUUID()}.tmp`;
    try {
      writeFileSync(temporary, JSON.stringify({ stopped: this.keys }), { mode: 0o600, flag: 'wx' });
      renameSync(temporary, file);
      return true;
    } catch (error) {
      rmSync(temporary, { force: true });
      const reason = (error as Error).message;
      this.#notice(`${file} cannot be written: ${reason}.  Stopped comparisons start again when the gateway restarts.`);
      return false;
    }
  }
}

function readKeys(file: string | undefined): Set<string> {
  if (file === undefined) return new Set();
  try {
    const { stopped } = JSON.parse(readFileSync(file, 'utf8')) as { stopped?: unknown };
    return new Set(Array.isArray(stopped) ? stopped.filter((key) => typeof key === 'string') : []);
  } catch {
    // There is no file, because nothing was stopped, or the file has other content.
    return new Set();
  }
}

export function shadowMetrics(shadows: readonly ShadowStatus[]): MetricValues[] {
  const runningValues = shadows.map(({ version, state }) => ({
    labels: { version },
    value: state === 'running' ? 1 : 0,
  }));
  const copyValues = shadows.flatMap(({ version, copies }) =>
    Object.entries(copies).flatMap(([kind, outcomes]) =>
      Object.entries(outcomes).map(([outcome, value]) => ({ labels: { version, kind, outcome }, value })),
    ),
  );
  const droppedValues = shadows.flatMap(({ version, dropped }) =>
    Object.entries(dropped).map(([reason, value]) => ({ labels: { version, reason }, value })),
  );
  return [
    metricOf('version_gateway_shadow_running', runningValues),
    metricOf('version_gateway_shadow_copies_total', copyValues),
    metricOf('version_gateway_shadow_dropped_total', droppedValues),
  ];
}
