import type { DriftStatus, ShadowStatus } from '../../contracts/shadow/sampling/comparisonStatus.ts';
import type { Instant } from '../../shared/instant.ts';
import type { AnsweringGateway } from '../../usage/observability/answeringGateway.ts';
import type { EditWatchStatus } from '../../versions/editWatch/watchStatus.ts';
import type { BrownoutStatus } from '../../versions/lifecycle/brownouts.ts';
import type { FreezeJson } from '../../versions/restrictions/knownClients.ts';
import type { FleetStatusJson } from '../fleet/fleetJson.ts';
import type { NotifyJson } from '../notify/dispatcher.ts';

// The body of `GET /api/status`, as the server writes it and as the commands and the dashboard read it.
// Optional: members that a gateway of an earlier release may lack, and those of features.

export interface StatusJson extends FeatureStatusJson {
  /** Null: the gateway is embedded in another program. */
  readonly gateway?: GatewayIdentityJson | null;
  readonly config: ConfigJson;
  readonly workers: readonly WorkerJson[];
  /** Null: usage is not recorded. */
  readonly usage?: LedgerJson | null;
  /** The versions of routes.yaml, and removed ones that still have requests in flight. */
  readonly versions: readonly VersionJson[];
  /** Null: the rates are not known yet. */
  readonly traffic?: TrafficJson | null;
}

export type GatewayIdentityJson = Pick<AnsweringGateway, 'name' | 'host' | 'admin' | 'file'>;

/** The members that the features of the gateway add. */
export interface FeatureStatusJson {
  readonly edit_watch?: readonly EditWatchStatus[];
  readonly brownouts?: readonly BrownoutStatus[];
  readonly freezes?: readonly FreezeJson[];
  readonly shadows?: readonly (ShadowStatus | DriftStatus)[];
  /** Null: routes.yaml names no receiver. */
  readonly notify?: NotifyJson | null;
  /** Null: the gateway is not in a fleet. */
  readonly fleet?: FleetStatusJson | null;
}

export interface ConfigJson {
  readonly fingerprint: string;
  /** Starts at 1 and grows with each reload that changed something. */
  readonly generation: number;
  readonly loaded_at: Instant;
  /** What started the reload: start, file, signal or admin. */
  readonly trigger: string;
  /** The reasons in `guard.force` with which the guard accepted the configuration. */
  readonly forced: readonly string[];
  readonly last_failure: {
    readonly at: Instant;
    readonly trigger: string;
    readonly reasons: readonly string[];
  } | null;
}

export interface WorkerJson {
  readonly pid: number;
  readonly since: Instant;
  /** Null: the worker responds. */
  readonly unresponsive_since?: Instant | null;
}

export interface LedgerJson {
  /** Why usage may be lost, or what was lost in the last 24 hours. Null: nothing. */
  readonly problem: string | null;
  /** Rows that could not be written yet. */
  readonly held_rows: number;
}

export interface VersionJson {
  /** The path segment: `v1`. */
  readonly version: string;
  /** A stage of the lifecycle, or `removed`. */
  readonly stage: string;
  readonly deprecation: Instant | null;
  readonly sunset: Instant | null;
  readonly in_flight: number;
  readonly waiting: number;
  readonly last_served: Instant | null;
  readonly safe_to_stop: boolean;
  /** False: its backends may be safe to stop. */
  readonly known?: boolean;
  /** The clients that a retired version still serves, the earliest end first. */
  readonly waivers: readonly { readonly client: string; readonly until: Instant; readonly reason: string }[];
  /** Null: the version has no adapter, or the adapter is off. */
  readonly adapter?: AdapterJson | null;
  /** What still uses the backend of the version: other versions, their adapters, and other gateways of the fleet. */
  readonly blocked_by?: readonly string[];
  /** None of its targets can be reached. */
  readonly unreachable: boolean;
  /** Unreachable, deprecated, and its successor is reachable. */
  readonly stopped_before_retired: boolean;
  readonly targets: readonly TargetJson[];
}

export interface AdapterJson {
  /** The version whose backend answers: `v2`. */
  readonly from: string;
  readonly mode: string;
  /** The failures by route. `pointer` and `at`: place and time of the last one. */
  readonly failures: readonly {
    readonly route: string;
    readonly count: number;
    readonly pointer: string;
    readonly at: Instant;
  }[];
  /** Requests that were answered 410, because the adapter does not serve their route. */
  readonly not_adapted?: number;
}

export interface TargetJson {
  readonly url: string;
  /** not tried, healthy, failing, ejected or removed. */
  readonly health: string;
  /** The first failed contact since the last success. */
  readonly failing_since?: Instant | null;
  readonly ejected_until: Instant | null;
  /** Null: not contacted yet. */
  readonly reachable: boolean | null;
  readonly last_error?: string | null;
  readonly last_error_at?: Instant | null;
  readonly in_flight: number;
  readonly connections: number;
}

export interface TrafficJson {
  /** The time between the first and the last sample, ms. */
  readonly span_ms: number;
  readonly versions: readonly VersionRatesJson[];
}

export interface VersionRatesJson {
  readonly version: string;
  readonly requests_per_second: number;
  /** 0 to 1. Null: there were no requests. */
  readonly error_share: number | null;
  readonly p50_ms: number | null;
  readonly p99_ms: number | null;
}
