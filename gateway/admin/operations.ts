import type { Snapshot } from '../config/snapshot.ts';
import type { EditWatch } from '../editWatch/editWatch.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { FleetMember } from '../fleet/fleetMember.ts';
import type { AnsweringGateway } from '../observability/answeringGateway.ts';
import type { MetricValues } from '../observability/exposition.ts';
import type { TrafficSamples } from '../observability/recentTraffic.ts';
import type { ConfigStatus, ServingReport } from '../observability/report.ts';
import type { BrownoutControl } from '../restrictions/brownoutControl.ts';
import type { FreezeStatus } from '../restrictions/knownClients.ts';
import type { LiveSources } from '../retirement/liveFacts.ts';
import type { ShadowControl } from '../shadow/shadowControl.ts';
import type { Clock } from '../shared/clock.ts';
import type { AccessCheck } from './guard.ts';
import type { LastUse } from './lastUse.ts';
import type { LedgerClient } from './reading/ledgerClient.ts';

export type FleetOperations = Pick<
  FleetMember,
  'status' | 'refusal' | 'stopBlockers' | 'facts' | 'forget' | 'createCountsQuestion' | 'awaitCounts'
>;

/** What the admin listener can request from the running gateway. Results are sent as JSON. */
export interface Operations {
  reload(): Promise<{ readonly kind: string }>;
  /** The result that a reload would have. `text`: checked instead of the content of routes.yaml. */
  preview(text?: string): Promise<{ readonly kind: string }>;
  /** The snapshot of `text`, or of routes.yaml. If the text is invalid, its faults as lines. */
  snapshotOf(text?: string): Promise<Snapshot | readonly string[]>;
  config(): ConfigStatus;
  /** The state of all processes. */
  report(options?: { readonly withMetrics: boolean }): Promise<ServingReport>;
  /** Sends the counts of all processes to the ledger. */
  flush?(): Promise<boolean>;
  /** Which gateway this is. */
  readonly identity?: () => AnsweringGateway;
  readonly clock: Clock;
  /** Receives a line for each call that failed unexpectedly. */
  readonly notice?: (line: string) => void;
  /** The samples of the traffic since the start of the gateway. Absent: the admin listener takes its own. */
  readonly traffic?: TrafficSamples;
  /** The metrics of the OpenTelemetry exporter. */
  readonly exporterMetrics?: () => readonly MetricValues[];
  /** Undefined: `notify` is not set. */
  readonly notifier?: () => { status(): object; test(): Promise<readonly object[]> } | undefined;
  /** Absent: the gateway keeps no usage ledger. */
  readonly usage?: LedgerClient | undefined;
  /** Absent: the gateway has no brownouts. */
  readonly brownouts?: Pick<BrownoutControl, 'status' | 'stop'>;
  /** Absent: edits are not watched. */
  readonly editWatch?: Pick<EditWatch, 'status'>;
  /** Undefined: no version has had a shadow or `drift` since the start. */
  readonly shadow?: () => Pick<ShadowControl, 'status' | 'drifts' | 'stop' | 'metrics' | 'requests'> | undefined;
  /** The freezes of the versions. */
  readonly freezes?: () => readonly FreezeStatus[];
  /** Absent: the gateway is not in a fleet. */
  readonly fleet?: FleetOperations | undefined;
  /** The shared store, and the counts that wait for it. Absent: the gateway is not in a fleet. */
  readonly fleetStore?: Pick<Fleet, 'isStoreUp' | 'spoolRatio' | 'outbox'> | undefined;
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

/** What a question about calls asks. */
export function liveSourcesOf({ flush = async () => true, report, usage, fleet }: Operations): LiveSources {
  return { flush, report, ledger: usage, fleet };
}
