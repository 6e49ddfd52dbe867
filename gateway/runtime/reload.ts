import type { LedgerClient } from '../admin/reading/ledgerClient.ts';
import type { AcceptedConfig } from '../config/acceptedConfig.ts';
import { ConfigError, formatFault } from '../config/fault.ts';
import type { Snapshot } from '../config/snapshot.ts';
import type { FleetMember } from '../fleet/fleetMember.ts';
import {
  type EditEffects,
  endedVersions,
  guardReload,
  newServingAdapters,
  type Refusal,
  refusalLines,
  stricterFreezes,
  type VersionUsage,
} from '../lifecycle/reloadGuard.ts';
import { changesBetween } from '../lifecycle/snapshotChanges.ts';
import type { ConfigStatus, ServingReport, Trigger } from '../observability/report.ts';
import type { Clock } from '../shared/clock.ts';
import type { Serving } from './serving.ts';

/** The result of a reload. An invalid file (`faulty`) and a refused edit change nothing. */
export type ReloadOutcome =
  | { readonly kind: 'reloaded'; readonly changes: readonly string[]; readonly forced: readonly string[] }
  /**
   * The new configuration is active, but not every worker has confirmed it. Until such a worker confirms it or is replaced, the
   * worker may serve the previous configuration.
   */
  | {
      readonly kind: 'incomplete';
      readonly changes: readonly string[];
      readonly forced: readonly string[];
      readonly unconfirmed: readonly string[];
    }
  /** `reverted`: the previous edit was rejected, and the file no longer contains it. */
  | { readonly kind: 'unchanged'; readonly reverted?: boolean }
  | { readonly kind: 'faulty'; readonly faults: readonly string[] }
  | { readonly kind: 'refused'; readonly refusals: readonly Refusal[] };

export interface ReloadSteps {
  /** Holds the current snapshot. */
  readonly source: { readonly current: Snapshot };
  /** What was announced to clients: the guard compares an edit with this configuration. Default: the current snapshot. */
  readonly announcedConfig?: () => AcceptedConfig;
  /** Reads and validates the file, or uses `content` instead. @throws ConfigError, or the error of reading it */
  readonly load: (content?: Uint8Array) => Snapshot | Promise<Snapshot>;
  /** Like `load` without side effects, for a preview of the file or of `text`. */
  readonly loadPreview: (text?: string) => Snapshot | Promise<Snapshot>;
  /** Makes a snapshot the current one. Returns one line per worker that has not confirmed it. */
  readonly apply: (snapshot: Snapshot) => Promise<readonly string[]>;
  /** How the versions are used now. */
  readonly readUsage: (editEffects: EditEffects) => Promise<VersionUsage>;
  readonly clock: Clock;
}

/** Reads the file again, checks it with the guard, and replaces the current snapshot. */
export class Reloader {
  readonly #steps: ReloadSteps;
  #status: ConfigStatus;
  // Reloads run one at a time, from reading to applying, so that an older file is never applied after a newer one.
  #lastReload: Promise<unknown> = Promise.resolve();

  constructor(steps: ReloadSteps) {
    this.#steps = steps;
    this.#status = {
      fingerprint: steps.source.current.fingerprint,
      generation: 1,
      loadedAt: steps.clock.now(),
      trigger: 'start',
      forced: [],
      lastFailure: undefined,
    };
  }

  get status(): ConfigStatus {
    return this.#status;
  }

  /** `content`: used instead of the file. */
  reload(trigger: Trigger, content?: Uint8Array): Promise<ReloadOutcome> {
    const outcome = this.#lastReload.then(() => this.#reload(trigger, content));
    this.#lastReload = outcome.catch(() => {});
    return outcome;
  }

  /** The outcome that a reload of the file or of `text` would have. Changes nothing. */
  async preview(text?: string): Promise<ReloadOutcome> {
    return (await this.#judge(() => this.#steps.loadPreview(text))).outcome;
  }

  /** The snapshot of the file or of `text`, or its faults. Changes nothing. */
  async snapshotOf(text?: string): Promise<Snapshot | readonly string[]> {
    try {
      return await this.#steps.loadPreview(text);
    } catch (error) {
      return faultsOf(error);
    }
  }

  async #reload(trigger: Trigger, content?: Uint8Array): Promise<ReloadOutcome> {
    const { next, outcome } = await this.#judge(() => this.#steps.load(content));
    let unconfirmed: readonly string[] = [];
    const now = this.#steps.clock.now();
    if (outcome.kind === 'reloaded' && next) {
      try {
        unconfirmed = await this.#steps.apply(next);
      } catch (error) {
        const faults = faultsOf(error);
        this.#noteFailure(now, trigger, faults);
        return { kind: 'faulty', faults };
      }
      const { generation, failures = 0 } = this.#status;
      const { fingerprint } = next;
      this.#status = {
        fingerprint,
        generation: generation + 1,
        loadedAt: now,
        trigger,
        failures,
        forced: outcome.forced,
        lastFailure: undefined,
      };
      if (unconfirmed.length > 0) return { ...outcome, kind: 'incomplete', unconfirmed };
    }
    if (outcome.kind === 'unchanged' && this.#status.lastFailure !== undefined) {
      this.#status = { ...this.#status, lastFailure: undefined };
      return { kind: 'unchanged', reverted: true };
    }
    if (outcome.kind === 'faulty') this.#noteFailure(now, trigger, outcome.faults);
    if (outcome.kind === 'refused')
      this.#noteFailure(
        now,
        trigger,
        outcome.refusals.map(({ message }) => message),
      );
    return outcome;
  }

  async #judge(read: () => Snapshot | Promise<Snapshot>): Promise<{ next?: Snapshot; outcome: ReloadOutcome }> {
    let next: Snapshot;
    try {
      next = await read();
    } catch (error) {
      return { outcome: { kind: 'faulty', faults: faultsOf(error) } };
    }
    const { current } = this.#steps.source;
    if (next.fingerprint === current.fingerprint) return { outcome: { kind: 'unchanged' } };
    const announced = this.#steps.announcedConfig?.() ?? current;
    const usage = await this.#steps.readUsage({
      endedVersions: endedVersions(announced, next, this.#steps.clock.now()),
      newFreezes: stricterFreezes(announced, next, this.#steps.clock.now()),
      newAdapters: newServingAdapters(current, next),
      quiet: next.guard.quiet,
    });
    const now = this.#steps.clock.now();
    const refusals = guardReload(announced, next, usage, now);
    if (refusals.length > 0) return { outcome: { kind: 'refused', refusals } };
    const changes = changesBetween(current, next, now);
    return { next, outcome: { kind: 'reloaded', changes, forced: newReasons(current, next) } };
  }

  #noteFailure(at: number, trigger: Trigger, reasons: readonly string[]): void {
    const failures = (this.#status.failures ?? 0) + 1;
    this.#status = { ...this.#status, failures, lastFailure: { at, trigger, reasons } };
  }
}

function faultsOf(error: unknown): string[] {
  if (error instanceof ConfigError) return error.faults.map(formatFault);
  return [error instanceof Error ? error.message : String(error)];
}

/** The `guard.force` reasons that are new in this edit, for the log. */
function newReasons(before: Snapshot, after: Snapshot): string[] {
  return [...after.guard.force]
    .filter(([name, reason]) => before.guard.force.get(name) !== reason)
    .map(([name, reason]) => `/${name}: ${reason}`);
}

/** An outcome as lines of text for the operator. */
export function outcomeLines(outcome: ReloadOutcome): string[] {
  switch (outcome.kind) {
    case 'unchanged':
      return outcome.reverted
        ? ['the rejected edit was undone; routes.yaml matches the active configuration again']
        : ['routes.yaml is unchanged; nothing to do'];
    case 'faulty':
      return ['routes.yaml has errors; the previous configuration stays active', ...outcome.faults];
    case 'refused':
      return ['the edit is refused; the previous configuration stays active', ...refusalLines(outcome.refusals)];
    case 'incomplete':
      return [
        'the new configuration is active, but not in every worker yet',
        ...outcome.unconfirmed,
        ...changeLines(outcome),
      ];
    case 'reloaded':
      return ['reloaded', ...changeLines(outcome)];
  }
}

function changeLines({ changes, forced }: Pick<ReloadOutcome & { kind: 'reloaded' }, 'changes' | 'forced'>): string[] {
  return [...changes, ...forced.map((reason) => `forced ${reason}`)];
}

// How far a call may lie after `now`: requests arrive while the ledger is queried.
const maxAfterNowMs = 5_000;

/**
 * How the versions are used now, for the reload guard. The rules of `can-retire` apply, as far as the ledger answers.
 * `now`: epoch ms. `fleet`: the other gateways. For the versions that the edit ends, the function waits a few seconds at most until
 * the other gateways have reported their calls.
 */
export async function versionUsage(
  snapshot: Snapshot,
  serving: Pick<Serving, 'flush' | 'report'>,
  ledger: LedgerClient | undefined,
  now: number,
  fleet: Pick<FleetMember, 'reasonOfGap' | 'loadElsewhere' | 'createCountsQuestion' | 'awaitCounts'> | undefined,
  { endedVersions: ended = [], newFreezes = [], newAdapters = [], quiet: editedQuiet = 0 }: EditEffects = {},
): Promise<VersionUsage> {
  let isFlushed = false;
  const flushAndReport = async (): Promise<ServingReport> => {
    isFlushed = await serving.flush();
    return serving.report();
  };
  // The question to the other gateways: does the ledger have all calls that ended before now?
  const reasonsOfMissingCalls = await fleet?.awaitCounts(ended, flushAndReport, fleet.createCountsQuestion());
  const { versions } = await flushAndReport();
  // The guard applies `guard.quiet` of the edit, which may be longer than the current one.
  const quiet = Math.max(snapshot.guard.quiet, editedQuiet);
  const since = now - quiet;
  // A reload does not wait for a ledger that does not answer; the reports of the processes are used instead.
  const answer = await ledger
    ?.query('recentUse', snapshot, { since, now, newFreezes, newAdapters })
    .catch(({ message }: Error) => ({
      versions: [],
      refusedByFreeze: new Map(),
      whyAdapterCannotServe: new Map(),
      problem: message,
    }));
  const problem = answer?.problem;
  const isLedgerComplete =
    isFlushed && problem === undefined && ledger?.problem === undefined && ledger?.unwrittenRows === 0;
  const useInLedger = new Map(answer?.versions.map((row) => [row.version, row]));
  return {
    lastCalled: (name) => {
      const reported = versions.find((version) => version.name === name);
      const elsewhere = fleet?.loadElsewhere(name) ?? { in_flight: 0, waiting: 0 };
      const open = (reported?.inFlight ?? 0) + (reported?.waiting ?? 0) + elsewhere.in_flight + elsewhere.waiting;
      // An open stream counts as a call now, no matter when it started.
      if (open > 0) return now;
      const last = useInLedger.get(name)?.last;
      // Processes do not know which clients are ignored, so their times count only if the ledger is incomplete.
      const lastCallTimes = isLedgerComplete ? [last] : [last, reported?.lastInFlight, reported?.lastRefused];
      // Times in the future were recorded before the clock was set back. They are ignored here. In the ledger, such times are set to
      // the present.
      const plausibleTimes = lastCallTimes.filter((at): at is number => at !== undefined && at <= now + maxAfterNowMs);
      return plausibleTimes.length === 0 ? undefined : Math.max(...plausibleTimes);
    },
    clients: (name) => useInLedger.get(name)?.clients,
    refusedByFreeze: (name) => answer?.refusedByFreeze.get(name),
    whyAdapterCannotServe: (name) => {
      if (!newAdapters.some(({ version }) => version === name)) return undefined;
      if (answer === undefined) return 'there is no usage ledger, so no comparisons are known';
      return problem === undefined
        ? answer.whyAdapterCannotServe.get(name)
        : `the usage ledger cannot be read: ${problem}`;
    },
    // If the query failed, the store may be lost, which only the next heartbeat would notice. Then it is not known which calls the
    // other gateways have received.
    gap: (name) => fleet && (fleet.reasonOfGap(quiet) ?? problem ?? reasonsOfMissingCalls?.get(name)),
  };
}
