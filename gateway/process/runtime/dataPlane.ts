import { randomBytes } from 'node:crypto';
import type { Snapshot } from '../../config/snapshot.ts';
import type { DiscoveryFactory } from '../../operate/discovery/app.ts';
import { isDiscovery } from '../../operate/discovery/paths.ts';
import { type ActiveSnapshot, activate } from '../../proxy/pipeline/activeVersion.ts';
import { Draining } from '../../proxy/pipeline/draining.ts';
import type { GatewayContext } from '../../proxy/pipeline/exchange.ts';
import type { VersionRequests } from '../../proxy/pipeline/inFlight.ts';
import type { Pool } from '../../proxy/upstream/pool.ts';
import { Registry } from '../../proxy/upstream/registry.ts';
import type { Target } from '../../proxy/upstream/target.ts';
import { type Clock, ClockWatch, systemClock } from '../../shared/clock.ts';
import { ClientIdentification, namingRulesIdOf } from '../../usage/counting/identification.ts';
import { RouteAnswers } from '../../usage/counting/routeAnswers.ts';
import type { ServingReport, TargetReport, VersionReport } from '../../usage/observability/report.ts';
import type { CancelledBrownouts } from '../../versions/lifecycle/brownouts.ts';
import { type KnownClients, knownClientSets } from '../../versions/restrictions/knownClients.ts';
import { noRestrictionState, type RestrictionUpdate } from '../../versions/restrictions/restriction.ts';
import { type AskOwnUsage, SelfService } from '../../versions/selfService/selfService.ts';

// A version can reach its sunset without a reload, so the stages of all versions are checked at intervals.
const checkIntervalMs = 1000;

export interface DataPlaneOptions {
  readonly clock?: Clock;
  /** Answers the index, contracts, guides and API catalog; undefined: these paths are not answered. */
  readonly discovery?: DiscoveryFactory | undefined;
  /** The salt of the tags of clients. */
  readonly salt?: string | undefined;
  readonly restrictions?: RestrictionUpdate | undefined;
  /** Answers `GET /versions/me`; undefined: the path is not answered. */
  readonly ownUsage?: AskOwnUsage | undefined;
  /** Whether requests are forwarded. If not, targets are neither called nor probed. */
  readonly forwardsRequests?: boolean;
}

/**
 * Owns the current snapshot of a process that answers requests, with its pools and its pipeline, but without a listener. All
 * other code reads the current snapshot here.
 */
export class DataPlane {
  readonly context: GatewayContext;
  /** The requests in flight of each version, by the name of the version; kept across reloads. */
  readonly requestsByVersion = new Map<string, VersionRequests>();
  readonly draining = new Draining(this.requestsByVersion);
  /** The routes that a version does not have, by the answers of its backend; kept across reloads. */
  readonly routeAnswers = new RouteAnswers();
  /** The paths at which versions were served before an edit, each with its version. */
  formerPaths: ReadonlyMap<string, string> = new Map();
  readonly #registry = new Registry();
  readonly #clock: Clock;
  readonly #clockWatch: ClockWatch;
  readonly #forwardsRequests: boolean;
  readonly #startedAt: number;
  readonly #timer: NodeJS.Timeout;
  /** The known clients that the operating side sent last. */
  #known: KnownClients | undefined;

  constructor(snapshot: Snapshot, options: DataPlaneOptions = {}) {
    const { clock = systemClock, discovery, forwardsRequests = true, salt = '', restrictions = {}, ownUsage } = options;
    this.#clock = clock;
    this.#clockWatch = new ClockWatch(clock);
    this.#forwardsRequests = forwardsRequests;
    this.#startedAt = clock.now();
    this.context = {
      activeSnapshot: this.#activate(snapshot, new ClientIdentification(snapshot.usage.identify, salt)),
      restrictionState: noRestrictionState,
      now: () => clock.now(),
      pseudonym: `version-gateway-${randomBytes(6).toString('hex')}`,
      unrecordedExchanges: 0,
      draining: false,
      selfService: ownUsage && new SelfService(ownUsage),
      isDiscovery: discovery ? isDiscovery : () => false,
      discovery: discovery?.(this, clock),
    };
    void this.restrict(restrictions);
    this.#timer = setInterval(() => this.#checkClockAndStages(), checkIntervalMs).unref();
  }

  get current(): Snapshot {
    return this.context.activeSnapshot.snapshot;
  }

  /** The brownouts that were skipped or stopped. */
  get cancelled(): CancelledBrownouts {
    return this.context.restrictionState.cancelled;
  }

  /** How clients are identified. */
  get identification(): ClientIdentification {
    return this.context.activeSnapshot.identification;
  }

  /** Replaces the snapshot in one assignment. Exchanges that started with the old snapshot keep it until they end. */
  apply(next: Snapshot): void {
    const { identification } = this;
    const hasSameIdentify = JSON.stringify(next.usage.identify) === JSON.stringify(this.current.usage.identify);
    if (!hasSameIdentify) this.#forgetKnown();
    this.context.activeSnapshot = this.#activate(
      next,
      hasSameIdentify ? identification : new ClientIdentification(next.usage.identify, identification.salt),
    );
    this.#checkClockAndStages();
    for (const requests of this.requestsByVersion.values()) requests.admitWaiting();
  }

  /** Identifies clients with another salt from now on. */
  resalt(salt: string): void {
    if (salt === this.identification.salt) return;
    const identification = new ClientIdentification(this.current.usage.identify, salt);
    this.#forgetKnown();
    this.context.activeSnapshot = { ...this.context.activeSnapshot, identification };
  }

  /** Replaces the parts of the restriction state that `update` has. */
  async restrict({ known, routeAnswers, formerPaths, ...update }: RestrictionUpdate): Promise<void> {
    if (routeAnswers) this.routeAnswers.share(routeAnswers);
    if (formerPaths) this.formerPaths = formerPaths;
    this.context.restrictionState = { ...this.context.restrictionState, ...update };
    if (known === undefined) return;
    this.#known = known;
    const knownByVersion = await knownClientSets(known);
    // A later call, or a change of the identification of clients, has replaced `known` in the meantime.
    if (known !== this.#known) return;
    // If this process names clients in another way than `known` does, every client would look new.
    const { identification, current } = this;
    const isSameNaming = known.namingRulesId === namingRulesIdOf(current.usage.identify, identification.salt);
    this.context.restrictionState = {
      ...this.context.restrictionState,
      known: isSameNaming ? knownByVersion : new Map(),
    };
  }

  /** No freeze refuses a client until the operating side has read the known clients again. */
  #forgetKnown(): void {
    this.#known = undefined;
    this.context.restrictionState = { ...this.context.restrictionState, known: new Map() };
  }

  report(): ServingReport {
    return {
      versions: this.#versionReports(),
      workers: [{ pid: process.pid, since: this.#startedAt }],
      routeAnswers: this.routeAnswers.report(),
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#registry.close();
  }

  #activate(snapshot: Snapshot, identification: ClientIdentification): ActiveSnapshot {
    this.routeAnswers.configure(snapshot);
    return activate(snapshot, this.#poolsFor(snapshot), this.requestsByVersion, identification, this.routeAnswers);
  }

  #poolsFor(snapshot: Snapshot): ReadonlyMap<string, Pool> {
    return this.#forwardsRequests ? this.#registry.poolsFor(snapshot) : new Map();
  }

  #checkClockAndStages(): void {
    const { jump } = this.#clockWatch.measure();
    if (jump !== 0) for (const requests of this.requestsByVersion.values()) requests.clockWasSet(jump);
    this.routeAnswers.expire(this.#clock.now());
    this.draining.endUnwanted(this.context.activeSnapshot, this.#clock.now());
  }

  #versionReports(): VersionReport[] {
    const now = this.#clock.now();
    return [...this.requestsByVersion].map(([name, requests]) => {
      const targets = this.context.activeSnapshot.versions.get(name)?.pool.targets ?? [];
      return {
        name,
        inFlight: requests.inFlightCount,
        waiting: requests.queue.length,
        lastInFlight: requests.lastInFlight(now),
        lastRefused: requests.lastRefused,
        adapterFailures: requests.adapterState?.failures,
        notAdapted: requests.adapterState?.notAdapted,
        targets: [...targets.map((target) => target.report()), ...removedTargets(requests, targets)],
      };
    });
  }
}

/** Targets that are no longer configured but still have open requests. */
function removedTargets(requests: VersionRequests, targets: readonly Target[]): TargetReport[] {
  const removed = new Set<Target>();
  for (const { chosenTarget } of requests.inFlight) {
    if (chosenTarget && !targets.includes(chosenTarget)) removed.add(chosenTarget);
  }
  return [...removed].map((target) => ({ ...target.report(), health: 'removed' as const }));
}
