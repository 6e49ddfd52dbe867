import express, { type Router } from 'express';
import type { Snapshot, Version } from '../config/snapshot.ts';
import { type EditWatchStatus, isStanding } from '../editWatch/watchStatus.ts';
import { earliest } from '../evidence/targetHealth.ts';
import type { FleetMember } from '../fleet/fleetMember.ts';
import { stageOf } from '../lifecycle/stage.ts';
import {
  exposition,
  type MetricSample,
  type MetricValues,
  metricOf,
  metricsType,
  unlabelled,
} from '../observability/exposition.ts';
import type { MetricName } from '../observability/metricTable.ts';
import type { ConfigStatus, ServingReport, TargetReport, VersionReport } from '../observability/report.ts';
import type { FreezeStatus } from '../restrictions/knownClients.ts';
import type { OutboxState } from '../usage/ledger/outbox.ts';
import type { LedgerState } from '../usage/ledger/writableLedger.ts';
import type { AdminContext, Operations } from './operations.ts';

const dayMs = 86_400_000;

/** `GET /metrics`: the counts of all processes, and the gateway's current state. */
export function metricsRoute({ source, operations, lastUse }: AdminContext): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/metrics', async (_req, res) => {
    const report = await operations.report({ withMetrics: true });
    const counted = [
      ...report.workers.map((worker) => worker.metrics ?? []),
      ...(report.metricsOfAbsentProcesses ?? []),
    ];
    const now = operations.clock.now();
    const withLastUse = await lastUse.addTo(report, source.current, now);
    const currentState = [
      ...gauges(source.current, withLastUse, operations.config(), now),
      ...freezeGauges(operations.freezes?.() ?? []),
      ...ledgerGauges(operations.usage, operations.fleetStore?.outbox, now),
      brownoutGauge(operations.brownouts?.status() ?? []),
      editWatchGauge(operations.editWatch?.status() ?? []),
      ...(operations.shadow?.()?.metrics() ?? []),
      ...fleetGauges(operations.fleet, operations.fleetStore),
    ];
    const text = await exposition([...counted, currentState, operations.exporterMetrics?.() ?? []]);
    res.set('Content-Type', await metricsType()).send(text);
  });
  return router;
}

type BrownoutStatus = ReturnType<NonNullable<Operations['brownouts']>['status']>[number];

export function brownoutGauge(brownouts: readonly Pick<BrownoutStatus, 'version' | 'state'>[]): MetricValues {
  const groups = Map.groupBy(brownouts, ({ version, state }) => `${version} ${state}`);
  const samples = [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map(({ version, state }) => ({ labels: { version, state }, value: group.length })),
  );
  return metricOf('version_gateway_brownouts', samples);
}

/** What is not known has no sample: 0 would say that no requests are lost. */
export function editWatchGauge(
  watches: readonly Pick<EditWatchStatus, 'version' | 'jumped' | 'known' | 'state'>[],
): MetricValues {
  const samples = [...Map.groupBy(watches, ({ version }) => version)].flatMap(([version, ofVersion]) => {
    const isKnown = ofVersion.every(({ known }) => known);
    const value = ofVersion.some(isStanding) ? 1 : isKnown ? 0 : undefined;
    return sampleIfDefined({ version }, value);
  });
  return metricOf('version_gateway_lost_requests_jumped', samples);
}

/** The metrics that are not counted, but computed from the configuration and the gateway's state at `now`. */
export function gauges(
  snapshot: Snapshot,
  { versions, workers }: ServingReport,
  config: ConfigStatus,
  now: number,
): MetricValues[] {
  const perVersion = (name: MetricName, value: (report: VersionReport) => number | undefined): MetricValues =>
    metricOf(
      name,
      versions.flatMap((report) => sampleIfDefined({ version: report.name }, value(report))),
    );
  const perTarget = (name: MetricName, value: (report: TargetReport) => number | undefined): MetricValues =>
    metricOf(
      name,
      versions.flatMap(({ name: version, targets }) =>
        targets.flatMap((target) => sampleIfDefined({ version, target: target.url }, value(target))),
      ),
    );
  const versionOf = ({ name }: VersionReport): Version | undefined => snapshot.versions.get(name);
  return [
    perVersion('version_gateway_requests_in_flight', ({ inFlight }) => inFlight),
    perVersion('version_gateway_requests_waiting', ({ waiting }) => waiting),
    perVersion('version_gateway_last_request_timestamp_seconds', ({ lastInFlight }) => seconds(lastInFlight)),
    perVersion('version_gateway_deprecated_version_in_use', (report) => inUse(versionOf(report), report, now)),
    perVersion('version_gateway_coverage_start_timestamp_seconds', ({ coveredSince }) => seconds(coveredSince)),
    perVersion('version_gateway_days_until_sunset', (report) => daysUntil(versionOf(report)?.sunset, now)),
    perTarget('version_gateway_target_up', upOf),
    unlabelled(
      'version_gateway_workers_unresponsive',
      workers.filter(({ unresponsiveSince }) => unresponsiveSince !== undefined).length,
    ),
    ...configGauges(config),
  ];
}

/** Undefined for a target that was not tried yet: neither 1 nor 0 would be known. */
function upOf({ health }: TargetReport): number | undefined {
  if (health === 'not tried') return undefined;
  return health === 'healthy' ? 1 : 0;
}

function configGauges({ generation, loadedAt, failures = 0, lastFailure }: ConfigStatus): MetricValues[] {
  return [
    metricOf('version_gateway_config_reloads_total', [
      { labels: { result: 'ok' }, value: generation - 1 },
      { labels: { result: 'failed' }, value: failures },
    ]),
    unlabelled('version_gateway_config_generation', generation),
    unlabelled('version_gateway_config_last_reload_successful', lastFailure ? 0 : 1),
    unlabelled('version_gateway_config_last_success_timestamp_seconds', loadedAt / 1000),
  ];
}

/** 1 if a deprecated or sunset version was used lately, and 0 if it was not. Undefined if that is not known, and in other stages. */
function inUse(version: Version | undefined, { inUse: answer }: VersionReport, now: number): number | undefined {
  const stage = version && stageOf(version, now);
  if (stage !== 'deprecated' && stage !== 'sunset') return undefined;
  return answer === 'yes' ? 1 : answer === 'no' ? 0 : undefined;
}

function daysUntil(instant: number | undefined, now: number): number | undefined {
  return instant === undefined ? undefined : (instant - now) / dayMs;
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

function sampleIfDefined(labels: MetricSample['labels'], value: number | undefined): MetricSample[] {
  return value === undefined ? [] : [{ labels, value }];
}

export function freezeGauges(freezes: readonly FreezeStatus[]): MetricValues[] {
  const perFreeze = (name: MetricName, value: (freeze: FreezeStatus) => number): MetricValues =>
    metricOf(
      name,
      freezes.map((freeze) => ({ labels: { version: freeze.version }, value: value(freeze) })),
    );
  return [
    perFreeze('version_gateway_freeze_active', ({ state }) => (state === 'active' ? 1 : 0)),
    perFreeze('version_gateway_freeze_new_clients', ({ newClients }) => newClients),
  ];
}

export function fleetGauges(
  fleet: Pick<FleetMember, 'status' | 'refusal'> | undefined,
  store: Operations['fleetStore'],
): MetricValues[] {
  if (!fleet || !store) return [];
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

type LedgerGauges = Pick<
  LedgerState,
  'problem' | 'lastIncident' | 'unwrittenRows' | 'unwrittenSince' | 'movedRequests'
>;

/** `outbox`: the counts that wait for the shared store; undefined without a fleet. */
export function ledgerGauges(
  ledger: LedgerGauges | undefined,
  outbox: Pick<OutboxState, 'since'> | undefined,
  now: number,
): MetricValues[] {
  if (!ledger) return [];
  const waitingSince = earliest(ledger.unwrittenSince, outbox?.since) ?? now;
  return [
    unlabelled('version_gateway_ledger_up', ledger.problem === undefined ? 1 : 0),
    metricOf(
      'version_gateway_ledger_last_incident_timestamp_seconds',
      ledger.lastIncident ? [{ labels: {}, value: ledger.lastIncident.at / 1000 }] : [],
    ),
    unlabelled('version_gateway_ledger_held_rows', ledger.unwrittenRows),
    unlabelled('version_gateway_counts_waiting_seconds', Math.max(0, now - waitingSince) / 1000),
    // Only the requests that the ledger moved to `other clients`. The serving processes count those that they moved. `exposition` adds
    // the two numbers.
    unlabelled('version_gateway_usage_folded_requests_total', ledger.movedRequests),
  ];
}
