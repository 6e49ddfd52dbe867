import { type Instant, isoTextOrNull } from '../../shared/instant.ts';
import { type MetricValues, metricOf, unlabelled } from '../../usage/observability/exposition.ts';
import type { FleetInstance, FleetView, InstanceState } from './fleetView.ts';
import { type GatewayRow, maxSkewMs } from './membership.ts';

/** The body of `GET /api/fleet`. Instants by the clock of the store. */
export interface FleetJson {
  /** Why the store does not answer; then the states are those of its last answer. Null: it answers. */
  readonly problem: string | null;
  /** Null before the first answer of the store. */
  readonly now: Instant | null;
  /** Heard gateways whose configuration differs from the most common one. */
  readonly config_skew: number;
  readonly gateways: readonly GatewayJson[];
}

/** The fleet in `GET /api/status`. */
export interface FleetStatusJson extends FleetJson {
  /** Why this gateway must not become ready, in lines. Null: it may. */
  readonly refusal: readonly string[] | null;
}

export interface GatewayJson {
  readonly name: string;
  readonly state: InstanceState;
  /** Null: never. */
  readonly heard: Instant | null;
  readonly release: string | null;
  /** A hash of what the gateway announces to clients, such as its versions, dates, successors and base path. */
  readonly config: string | null;
  readonly config_since: Instant | null;
  /** Its configuration differs from the most common one. */
  readonly config_differs: boolean;
  readonly ready: boolean;
  readonly problem: string | null;
  readonly in_flight: number;
  readonly waiting: number;
  /** Rows that are not in the store yet. */
  readonly spooled: number;
  readonly spooled_since: Instant | null;
  /** How far its clock is ahead of that of the store. */
  readonly clock_skew_ms: number;
  readonly clock_differs: boolean;
  readonly started: Instant | null;
  /** When it stopped, with all its counts in the store. */
  readonly left: Instant | null;
  /** When it was marked as gone. */
  readonly gone: Instant | null;
  readonly gone_reason: string | null;
  readonly addresses: readonly string[];
}

/**
 * The unsent counts of the gateway that answers this request. The store has only the numbers of its last heartbeat, which are older.
 */
type OwnSpool = Pick<GatewayRow, 'spooled' | 'spooledSince'> & { readonly instance: string | undefined };

export function fleetJson(
  { problem, now, instances }: Pick<FleetView, 'problem' | 'now' | 'instances'>,
  own?: OwnSpool,
): FleetJson {
  return {
    problem: problem ?? null,
    now: now === 0 ? null : isoTextOrNull(now),
    config_skew: instances.filter(({ hasOtherConfig }) => hasOtherConfig).length,
    gateways: instances.map((one) => gatewayJson(one, own)),
  };
}

function gatewayJson({ name, state, row, hasOtherConfig }: FleetInstance, own: OwnSpool | undefined): GatewayJson {
  // The requests in flight of a gateway that is not heard are not known.
  const loads = state === 'heard' ? Object.values(row?.versions ?? {}) : [];
  const skew = row?.skewMs ?? 0;
  const spool = row !== undefined && row.instance === own?.instance ? own : row;
  return {
    name,
    state,
    heard: isoTextOrNull(row?.heard),
    release: row?.release ?? null,
    config: row?.config ?? null,
    config_since: isoTextOrNull(row?.configSince),
    config_differs: hasOtherConfig,
    ready: state === 'heard' && row?.ready === true,
    problem: row?.problem ?? null,
    in_flight: loads.reduce((sum, load) => sum + load.in_flight, 0),
    waiting: loads.reduce((sum, load) => sum + load.waiting, 0),
    spooled: spool?.spooled ?? 0,
    spooled_since: isoTextOrNull(spool?.spooledSince),
    clock_skew_ms: skew,
    clock_differs: state === 'heard' && Math.abs(skew) > maxSkewMs,
    started: isoTextOrNull(row?.started),
    left: isoTextOrNull(row?.leftAt),
    gone: isoTextOrNull(row?.goneAt),
    gone_reason: row?.goneReason ?? null,
    addresses: row?.addresses ?? [],
  };
}

export function fleetGauges(
  fleet: { status(): FleetJson; readonly refusal: readonly string[] | undefined },
  store: {
    readonly isStoreUp: boolean;
    readonly spoolRatio: number;
    readonly outbox: { readonly rows: number } | undefined;
  },
): MetricValues[] {
  const { gateways, config_skew: configSkew } = fleet.status();
  const instances = (['heard', 'silent', 'left', 'gone'] as const).map((state) => ({
    labels: { state },
    value: gateways.filter((one) => one.state === state).length,
  }));
  return [
    metricOf('version_gateway_fleet_instances', instances),
    unlabelled('version_gateway_fleet_config_skew', configSkew),
    unlabelled('version_gateway_fleet_config_refused', fleet.refusal ? 1 : 0),
    unlabelled('version_gateway_fleet_store_up', store.isStoreUp ? 1 : 0),
    unlabelled('version_gateway_fleet_spooled_rows', store.outbox?.rows ?? 0),
    unlabelled('version_gateway_fleet_spool_ratio', store.spoolRatio),
  ];
}
