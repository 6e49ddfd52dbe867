import type { AcceptedConfig } from '../../config/acceptedConfig.ts';
import { apiOf, forceReasons, longestQuiet, withRemovedApis } from '../../config/api.ts';
import { ConfigError, formatFault } from '../../config/fault.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import { toPlain } from '../../config/transfer.ts';
import type { ReloadOutcome } from '../../operate/admin/adminApi.ts';
import type { LedgerClient } from '../../operate/admin/reading/ledgerClient.ts';
import type { TrialQuery, TrialResult } from '../../proxy/trial/trial.ts';
import type { Clock } from '../../shared/clock.ts';
import { messageOf } from '../../shared/text.ts';
import { type CallEvidence, callEvidence, noLiveFacts } from '../../usage/evidence/callEvidence.ts';
import { recentMs } from '../../usage/evidence/recentPeriod.ts';
import type { ConfigStatus, Trigger } from '../../usage/observability/report.ts';
import {
  type EditEffects,
  endedVersions,
  forceLine,
  guardReload,
  isForced,
  newServingAdapters,
  type Refusal,
  stricterFreezes,
} from '../../versions/lifecycle/reloadGuard.ts';
import { changesBetween } from '../../versions/lifecycle/snapshotChanges.ts';
import { stageWithWaivers } from '../../versions/lifecycle/stage.ts';
import { type EditUsage, editRefusals } from '../../versions/plan/editRefusals.ts';
import { changedVersions, movesPaths, type RecentRefusals } from '../../versions/plan/ownAnswers.ts';
import { CallsQuestion, type LiveSources } from '../../versions/retirement/liveFacts.ts';

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
  readonly readUsage: (editEffects: EditEffects) => Promise<EditUsage>;
  /** Tries the targets that the edit would newly use. */
  readonly tryNewTargets: (query: TrialQuery) => TrialResult | Promise<TrialResult>;
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
    // Nobody handles a rejection of a reload that a timer or a signal begins: it would end the process.
    const outcome = this.#lastReload
      .then(() => this.#reload(trigger, content))
      .catch((error: unknown) => this.#failed(trigger, error));
    this.#lastReload = outcome;
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
      const formerTargets = new Map(this.#status.formerTargets);
      for (const version of this.#steps.source.current.sortedVersions) {
        // Nothing is known about a version that was a tombstone at the start but the targets that it names.
        const isServed = stageWithWaivers(version, now) !== 'retired' || !formerTargets.has(version.name);
        if (isServed && version.targets.length > 0) formerTargets.set(version.name, version.targets);
      }
      try {
        unconfirmed = await this.#steps.apply(next);
      } catch (error) {
        if (this.#steps.source.current.fingerprint !== next.fingerprint) throw error;
        // It is served by now. So it is what a later edit is compared with, and its former targets are remembered.
        unconfirmed = faultsOf(error).map((fault) => `a part of the gateway has not applied it: ${fault}.  ${restart}`);
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
        formerTargets,
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
    const refusals = await this.#guard(announced, next);
    if (refusals.length > 0) return { outcome: { kind: 'refused', refusals } };
    const trial = await this.#steps.tryNewTargets({
      before: current,
      after: next,
      now: this.#steps.clock.now(),
      isForced: (version) => isForced(version, announced, next),
    });
    if (trial.faults.length > 0) return { outcome: { kind: 'faulty', faults: trial.faults } };
    const refusedTargets = trial.refusals.map((one) => ({ ...one, force: forceLine([one.version]) }));
    if (refusedTargets.length > 0) return { outcome: { kind: 'refused', refusals: refusedTargets } };
    // A trial may take seconds. A version that the edit ends may have been called meanwhile.
    const laterRefusals = trial.hasTried ? await this.#guard(announced, next) : [];
    if (laterRefusals.length > 0) return { outcome: { kind: 'refused', refusals: laterRefusals } };
    const changes = changesBetween(current, next, this.#steps.clock.now());
    const warnings = trial.warnings.length > 0 ? { warnings: trial.warnings } : {};
    return { next, outcome: { kind: 'reloaded', changes, forced: newReasons(current, next), ...warnings } };
  }

  /** Why the guard refuses the edit; empty: it does not. */
  async #guard(announced: AcceptedConfig, next: Snapshot): Promise<Refusal[]> {
    const { source, readUsage, clock } = this.#steps;
    const configurations = { candidate: next, running: source.current };
    // Without `guard.quiet`, the requests to a version are not part of the question.
    const versions = changedVersions(configurations).filter((version) => apiOf(version, next).guard.quiet > 0);
    const isMoved = movesPaths(configurations) && longestQuiet(next, 'guard') > 0;
    const judged = withRemovedApis(next, source.current, announced.versions.keys());
    const usage = await readUsage({
      changed: versions.length > 0 || isMoved ? { ...configurations, versions } : undefined,
      endedVersions: endedVersions(announced, judged, clock.now()),
      newFreezes: stricterFreezes(announced, next, clock.now()),
      newAdapters: newServingAdapters(source.current, next),
      quiet: (version) => apiOf(version, judged).guard.quiet,
    });
    const now = clock.now();
    return [
      ...guardReload(announced, judged, usage, now),
      ...editRefusals(source.current, next, usage, now).filter(({ version }) => !isForced(version, announced, next)),
    ];
  }

  /** What the steps throw. The previous configuration is still active. */
  #failed(trigger: Trigger, error: unknown): ReloadOutcome {
    const faults = faultsOf(error);
    this.#noteFailure(this.#steps.clock.now(), trigger, faults);
    return { kind: 'faulty', faults };
  }

  #noteFailure(at: number, trigger: Trigger, reasons: readonly string[]): void {
    const failures = (this.#status.failures ?? 0) + 1;
    this.#status = { ...this.#status, failures, lastFailure: { at, trigger, reasons } };
  }
}

const restart = 'Restart the gateway, so that all of it has the new configuration';

function faultsOf(error: unknown): string[] {
  if (error instanceof ConfigError) return error.faults.map(formatFault);
  return [messageOf(error)];
}

/** The `guard.force` reasons that are new in this edit, for the log. */
function newReasons(before: Snapshot, after: Snapshot): string[] {
  const versions = new Set([...after.apis.values()].flatMap(({ guard }) => [...guard.force.keys()]));
  return [...versions].flatMap((name) => {
    const reasonsBefore = forceReasons(name, before);
    const added = forceReasons(name, after).filter((reason) => !reasonsBefore.includes(reason));
    return added.map((reason) => `/${name}: ${reason}`);
  });
}

/**
 * How the versions are used now, for the reload guard. The rules of `can-retire` apply. `now`: epoch ms. For the versions that the edit
 * ends or changes, the function waits a few seconds at most until the other gateways have reported their calls.
 */
export async function versionUsage(
  snapshot: Snapshot,
  sources: LiveSources,
  ledger: LedgerClient | undefined,
  now: number,
  { endedVersions: ended = [], newFreezes = [], newAdapters = [], quiet: editedQuiet, changed }: EditEffects = {},
): Promise<EditUsage> {
  // The guard applies `guard.quiet` of the edit, which may be longer than the current one.
  const quietOf = (version: string) => Math.max(apiOf(version, snapshot).guard.quiet, editedQuiet?.(version) ?? 0);
  const question = new CallsQuestion(sources);
  const moved = changed && movesPaths(changed) ? changed.running.versions.keys() : [];
  const asked = [...new Set([...ended, ...(changed?.versions ?? []), ...moved])];
  await question.wait(asked);
  const { facts: live } = await question.answer([...snapshot.versions.keys(), ...asked], quietOf);
  const askedOf = (version: string) => {
    const quiet = quietOf(version);
    return { version, now, quiet, since: now - quiet, retention: snapshot.usage.retention };
  };
  const quiet = new Map([...live.keys()].map((version) => [version, quietOf(version)]));
  // A reload does not wait for a ledger that does not answer.
  const answer = await ledger
    ?.query('recentUse', snapshot, { now, quiet, live, newFreezes, newAdapters })
    .catch(({ message }: Error) => ({ versions: new Map(), problem: message, ...nothingFound }));
  const periods = new Map([...quiet].map(([version, ms]) => [version, Math.max(recentMs, ms)]));
  const ownRefusals = changed && (await readOwnRefusals(ledger, changed, { periods, now }));
  // If the query failed, the store may be lost, which only the next heartbeat would notice.
  const problem = answer?.problem ?? ledger?.problem;
  const unreadEvidence = (name: string): CallEvidence =>
    callEvidence({ ...askedOf(name), coverage: undefined, problem, live: live.get(name) ?? noLiveFacts });
  return {
    ownRefusals,
    sizes: (name) => (ownRefusals && answer?.versions.get(name)?.sizes) ?? unreadEvidence(name),
    calls: (name) => answer?.versions.get(name)?.calls ?? unreadEvidence(name),
    clients: (name) => answer?.versions.get(name)?.clients,
    refusedByFreeze: (name) => answer?.refusedByFreeze.get(name),
    whyAdapterCannotServe: (name) => {
      if (!newAdapters.some(({ version }) => version === name)) return undefined;
      if (answer === undefined) return 'there is no usage ledger, so no comparisons are known';
      return problem === undefined
        ? answer.whyAdapterCannotServe.get(name)
        : `the usage ledger cannot be read: ${problem}`;
    },
  };
}

/** What the edit would refuse of the recent requests. Undefined: the ledger does not answer, or there is none. */
async function readOwnRefusals(
  ledger: LedgerClient | undefined,
  { running, candidate, versions }: NonNullable<EditEffects['changed']>,
  times: { readonly periods: ReadonlyMap<string, number>; readonly now: number },
): Promise<RecentRefusals | undefined> {
  return ledger
    ?.query('ownRefusals', running, { candidate: toPlain(candidate), versions, ...times })
    .catch(() => undefined);
}

const nothingFound = { refusedByFreeze: new Map<string, string>(), whyAdapterCannotServe: new Map<string, string>() };
