import { type AcceptedConfig, acceptedRecord, configHash } from '../../config/acceptedConfig.ts';
import { answerSettingsOf } from '../../config/answerSettings.ts';
import { apiOf, withRemovedApis } from '../../config/api.ts';
import type { Snapshot } from '../../config/snapshot.ts';
import type { Clock } from '../../shared/clock.ts';
import {
  type EditEffects,
  endedVersions,
  guardReload,
  type Refusal,
  refusalLines,
  stricterFreezes,
  type VersionUsage,
} from '../../versions/lifecycle/reloadGuard.ts';
import type { NewSharedConfig, SharedConfig } from './sharedConfig.ts';

/** The configuration of a gateway, and how its versions are used. */
export interface ConfiguredGateway {
  readonly source: { readonly current: Snapshot };
  /** How the versions are used, according to the ledger of the fleet. */
  readUsage(editEffects: EditEffects): Promise<VersionUsage>;
  /** Called when the fleet accepts a configuration that was refused before. */
  onAccepted(snapshot: Snapshot): void;
  readonly clock: Clock;
}

export interface AgreementOptions {
  /** The name of this gateway. */
  readonly name: string;
  readonly notice: (line: string) => void;
  /** What the fleet has accepted last; undefined: nothing yet. Null: the store does not answer. */
  readonly read: () => Promise<SharedConfig | undefined | null>;
  /** Returns false if the store does not answer. */
  readonly write: (config: NewSharedConfig) => Promise<boolean>;
}

/**
 * Compares the configuration at the start with the one that the fleet has accepted last, and stores accepted configurations. With
 * hashed ConfigMaps and Swarm configs every edit is a restart, so the reload guard has to apply at the start, too.
 */
export class ConfigAgreement {
  readonly #options: AgreementOptions;
  #refusal: readonly string[] | undefined;
  #announced: AcceptedConfig | undefined;
  #warning: string | undefined;
  #isCompared = false;
  #isComparing = false;
  /** True after `decide`. A configuration that `decide` did not refuse is served, whatever the store answers later. */
  #isDecided = false;
  /** An accepted configuration that the store does not have yet, and since when, in ms of a monotonic clock. */
  #unwritten: { readonly snapshot: Snapshot; readonly since: number } | undefined;

  constructor(options: AgreementOptions) {
    this.#options = options;
  }

  /** Why this gateway must not become ready, in lines; undefined: it may. */
  get refusal(): readonly string[] | undefined {
    return this.#isDecided ? this.#refusal : ['The configuration is being compared with that of the fleet.'];
  }

  /** The configuration that the fleet accepted last, if this one is refused. Later edits are compared with it. */
  get announcedConfig(): AcceptedConfig | undefined {
    return this.#announced;
  }

  /**
   * How the configuration breaks what the fleet has announced. Such a configuration is served nevertheless if the store did not
   * answer at the start.
   */
  get problem(): string | undefined {
    return this.#refusal?.join('  ') ?? this.#warning;
  }

  /** Decides whether the gateway becomes ready. If the store does not answer, the gateway becomes ready without a comparison. */
  async decide(gateway: ConfiguredGateway): Promise<void> {
    await this.#compare(gateway);
    this.#isDecided = true;
  }

  /**
   * Repeats a write or a comparison that the store did not answer, and checks a refused configuration again.
   * @returns whether it has compared the configurations
   */
  async retry(gateway: ConfiguredGateway): Promise<boolean> {
    // A comparison may wait longer than the time between two heartbeats.
    if (this.#isComparing) return false;
    if (this.#unwritten) await this.#write();
    else if (this.#refusal !== undefined || !this.#isCompared) return this.#compare(gateway);
    return false;
  }

  /** Records a configuration that the reload guard has accepted. */
  accept(snapshot: Snapshot): void {
    this.#isCompared = true;
    this.#refusal = this.#announced = this.#warning = undefined;
    this.#unwritten = { snapshot, since: performance.now() };
    void this.#write();
  }

  async #compare(gateway: ConfiguredGateway): Promise<boolean> {
    this.#isComparing = true;
    try {
      return await this.#judge(gateway);
    } finally {
      this.#isComparing = false;
    }
  }

  /** @returns false if the store did not answer, or a reload has replaced the configuration meanwhile */
  async #judge(gateway: ConfiguredGateway): Promise<boolean> {
    const snapshot = gateway.source.current;
    const shared = await this.#options.read();
    if (shared === null) return false;
    const refusals =
      shared === undefined || shared.hash === configHash(snapshot)
        ? []
        : await this.#refusals(shared.config, snapshot, gateway);
    if (gateway.source.current !== snapshot) return false;
    this.#isCompared = true;
    if (shared !== undefined && refusals.length > 0) {
      this.#refuse(refusalLines(refusals), shared);
      return true;
    }
    const wasRefused = this.#refusal !== undefined;
    // The settings of a gateway that runs with another base path or other limits replace those of the others.
    const isShared =
      shared?.hash === configHash(snapshot) && shared.answers === JSON.stringify(answerSettingsOf(snapshot));
    if (isShared) this.#refusal = this.#announced = undefined;
    else this.accept(snapshot);
    if (wasRefused) {
      this.#options.notice('The fleet accepts routes.yaml now; this gateway is ready.');
      gateway.onAccepted(snapshot);
    }
    return true;
  }

  async #refusals(
    before: AcceptedConfig,
    after: Snapshot,
    { readUsage, clock }: ConfiguredGateway,
  ): Promise<Refusal[]> {
    // The record of the fleet has no settings of an API that this configuration lacks.
    const judged = withRemovedApis(after, undefined, before.versions.keys());
    const usage = await readUsage({
      endedVersions: endedVersions(before, judged, clock.now()),
      newFreezes: stricterFreezes(before, after, clock.now()),
      quiet: (version) => apiOf(version, judged).guard.quiet,
    });
    return guardReload(before, judged, usage, clock.now());
  }

  #refuse(lines: readonly string[], { config, gateway }: SharedConfig): void {
    const isServing = this.#isDecided && this.#refusal === undefined;
    // The operator is told only about the first refusal.
    if (this.#refusal === undefined) {
      const result = isServing
        ? 'It is served, because the store did not answer at the start'
        : 'This gateway does not become ready';
      const heading = `routes.yaml breaks what the fleet has announced with the configuration of ${gateway}.  ${result}:`;
      for (const line of [heading, ...lines]) this.#options.notice(line);
    }
    if (isServing) this.#warning = lines.join('  ');
    else [this.#refusal, this.#announced] = [lines, config];
  }

  async #write(): Promise<void> {
    const unwritten = this.#unwritten;
    if (!unwritten) return;
    const { snapshot, since } = unwritten;
    const isWritten = await this.#options.write({
      record: acceptedRecord(snapshot),
      hash: configHash(snapshot),
      gateway: this.#options.name,
      answers: JSON.stringify(answerSettingsOf(snapshot)),
      age: Math.round(performance.now() - since),
    });
    if (isWritten && this.#unwritten === unwritten) this.#unwritten = undefined;
  }
}
