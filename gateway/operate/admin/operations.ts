import type { Snapshot } from '../../config/snapshot.ts';
import type { Clock } from '../../shared/clock.ts';
import type { AnsweringGateway } from '../../usage/observability/answeringGateway.ts';
import type { MetricValues } from '../../usage/observability/exposition.ts';
import type { TrafficSamples } from '../../usage/observability/recentTraffic.ts';
import type { ConfigStatus, ServingReport } from '../../usage/observability/report.ts';
import type { FreezeStatus } from '../../versions/restrictions/knownClients.ts';
import type { LiveSources } from '../../versions/retirement/liveFacts.ts';
import type { FleetMember } from '../fleet/fleetMember.ts';
import type { ReloadOutcome } from './adminApi.ts';
import type { ApiHandlers } from './apiRouter.ts';
import type { AccessCheck } from './guard.ts';
import type { LastUse } from './lastUse.ts';
import type { LedgerClient } from './reading/ledgerClient.ts';
import type { FeatureStatusJson } from './statusJson.ts';

export type FleetOperations = Pick<
  FleetMember,
  'status' | 'refusal' | 'readGateways' | 'stopBlockers' | 'facts' | 'forget' | 'createCountsQuestion' | 'awaitCounts'
>;

/** The configuration of the gateway. Results are sent as JSON. */
export interface ConfigurationOperations {
  reload(): Promise<ReloadOutcome>;
  /** The result that a reload would have. `text`: checked instead of the content of routes.yaml. */
  preview(text?: string): Promise<ReloadOutcome>;
  /** The snapshot of `text`, or of routes.yaml. If the text is invalid, its faults as lines. */
  snapshotOf(text?: string): Promise<Snapshot | readonly string[]>;
  readonly status: ConfigStatus;
}

/** What the admin listener asks: the processes, the ledger and the fleet. */
export interface AdminSources extends LiveSources {
  /** The state of all processes. */
  report(options?: { readonly withMetrics: boolean }): Promise<ServingReport>;
  /** Undefined: the gateway keeps no usage ledger. */
  readonly ledger: LedgerClient | undefined;
  /** Undefined: the gateway is not in a fleet. */
  readonly fleet: FleetOperations | undefined;
}

/** What a feature shows on the admin listener. */
export interface AdminFeature {
  /** Its members of `GET /api/status`. */
  status?(): FeatureStatusJson;
  /** The metrics that are not counted, but computed from its state. */
  metrics?(): readonly MetricValues[];
  /** Its operations of the admin API. */
  routes?(context: AdminContext): Partial<ApiHandlers>;
}

/** What the admin listener can request from the running gateway. */
export interface Operations {
  readonly configuration: ConfigurationOperations;
  readonly live: AdminSources;
  readonly features: readonly AdminFeature[];
  readonly clock: Clock;
  /** Which gateway this is. */
  readonly identity?: () => AnsweringGateway;
  /** Receives a line for each call that failed unexpectedly. */
  readonly notice?: (line: string) => void;
  /** The samples of the traffic since the start of the gateway. Absent: the admin listener takes its own. */
  readonly traffic?: TrafficSamples;
  /** The freeze of a version. */
  readonly freezeOf?: (version: string) => FreezeStatus | undefined;
}

/** What the routes of the admin listener share. */
export interface AdminContext {
  readonly source: { readonly current: Snapshot };
  readonly operations: Operations;
  readonly lastUse: LastUse;
  readonly traffic: TrafficSamples;
  /** Why a request is admitted: by the token, a session or its address. Undefined: it is refused. */
  readonly accessOf: AccessCheck;
}
