import express, { type Router } from 'express';
import type { Snapshot, Version } from '../../config/snapshot.ts';
import {
  exposition,
  type MetricSample,
  type MetricValues,
  metricOf,
  metricsType,
  unlabelled,
} from '../../usage/observability/exposition.ts';
import type { MetricName } from '../../usage/observability/metricTable.ts';
import type { ConfigStatus, ServingReport, TargetReport, VersionReport } from '../../usage/observability/report.ts';
import { stageOf } from '../../versions/lifecycle/stage.ts';
import type { AdminContext } from './operations.ts';

const dayMs = 86_400_000;

/** `GET /metrics`: the counts of all processes, and the gateway's current state. */
export function metricsRoute({ source, operations, lastUse }: AdminContext): Router {
  const router = express.Router({ strict: true, caseSensitive: true });
  router.get('/metrics', async (_req, res) => {
    const report = await operations.live.report({ withMetrics: true });
    const counted = [
      ...report.workers.map((worker) => worker.metrics ?? []),
      ...(report.metricsOfAbsentProcesses ?? []),
    ];
    const now = operations.clock.now();
    const withLastUse = await lastUse.addTo(report, source.current, now);
    const currentState = [
      ...gauges(source.current, withLastUse, operations.configuration.status, now),
      ...operations.features.flatMap((feature) => feature.metrics?.() ?? []),
    ];
    const text = await exposition([...counted, currentState]);
    res.set('Content-Type', await metricsType()).send(text);
  });
  return router;
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
