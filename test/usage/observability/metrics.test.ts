import { describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { shadowMetrics } from '../../../gateway/contracts/shadow/sampling/comparisonStatus.ts';
import { gauges } from '../../../gateway/operate/admin/metrics.ts';
import { fleetGauges, fleetJson } from '../../../gateway/operate/fleet/fleetJson.ts';
import { OtlpExporter } from '../../../gateway/operate/otlp/exporter.ts';
import { ledgerGauges } from '../../../gateway/process/runtime/ledgerMaintenance.ts';
import { Telemetry } from '../../../gateway/process/runtime/telemetry.ts';
import { WorkerTotals } from '../../../gateway/process/runtime/workerTotals.ts';
import { systemClock } from '../../../gateway/shared/clock.ts';
import { ClientIdentification } from '../../../gateway/usage/counting/identification.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import type { ExchangeRecord } from '../../../gateway/usage/observability/exchangeRecord.ts';
import { exposition } from '../../../gateway/usage/observability/exposition.ts';
import { ejectionsIn, Metrics } from '../../../gateway/usage/observability/metrics.ts';
import { metricTable } from '../../../gateway/usage/observability/metricTable.ts';
import type { ServingReport } from '../../../gateway/usage/observability/report.ts';
import { editWatchGauge } from '../../../gateway/versions/editWatch/watchStatus.ts';
import { brownoutGauge } from '../../../gateway/versions/restrictions/brownoutControl.ts';
import { freezeGauges } from '../../../gateway/versions/restrictions/knownClients.ts';
import { startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { ask, get } from '../../support/rawClient.ts';
import { parseMetrics } from './parseMetrics.ts';
import { startRecorded, successfulExchange } from './recorded.ts';

function counted(...facts: Partial<ExchangeRecord>[]): Metrics {
  const metrics = new Metrics();
  for (const one of facts) metrics.record({ ...successfulExchange, ...one });
  return metrics;
}

async function read(...metrics: Metrics[]) {
  return parseMetrics(await exposition(await Promise.all(metrics.map((one) => one.json()))));
}

const upstream = 'http://127.0.0.1:3001';
const snapshot = snapshotFrom({
  routes: {
    '/v1': { upstream, deprecation: '2026-01-01', sunset: '2026-12-01' },
    '/v2': { upstream, deprecation: '2026-01-01' },
    '/v3': upstream,
    '/v4': { upstream, deprecation: '2026-01-01' },
  },
});
const now = Date.parse('2026-11-21');
const idle = { inFlight: 0, waiting: 0, lastInFlight: undefined, targets: [] };
const report: ServingReport = {
  workers: [],
  versions: [
    {
      name: 'v1',
      inFlight: 2,
      waiting: 1,
      lastInFlight: now - 1000,
      coveredSince: now - 86_400_000,
      inUse: 'yes',
      targets: [
        {
          url: upstream,
          inFlight: 2,
          connections: 2,
          reachable: true,
          health: 'ejected',
          ejectedUntil: now,
          ejections: 3,
        },
      ],
    },
    { ...idle, name: 'v2', lastInFlight: now - 25 * 3_600_000, inUse: 'no' },
    { ...idle, name: 'v3' },
    { ...idle, name: 'v4', inUse: 'not known' },
  ],
};
// A path through a file can never be written.
const ledger = Ledger.open({ store: '/dev/null/usage.db', retention: 86_400_000 }, { clock: { now: () => now } });
const row = {
  version: 'v1',
  client: 'a',
  route: 'GET /',
  hour: now,
  requests: 1,
  errors: 0,
  served: 1,
  failing: 0,
  refused: 0,
  body: 0,
  target: 0,
  head: 0,
};
ledger.add([{ ...row, first: now, last: now, used: now, accepted: now }]);
const config = {
  fingerprint: '',
  generation: 3,
  loadedAt: now,
  trigger: 'file',
  failures: 4,
  forced: [],
  lastFailure: { at: now, trigger: 'file', reasons: [] },
} as const;

/** The metrics of a process that counts usage. */
async function ofProcess() {
  const usage = { salt: '', receive: () => {} };
  const source = { current: snapshot, identification: new ClientIdentification([], '') };
  const telemetry = new Telemetry(source, { clock: systemClock, notice: () => {}, logs: false, usage });
  onTestFinished(() => telemetry.close());
  telemetry.recorder.record(successfulExchange);
  return [...(await telemetry.metrics()), ...ejectionsIn(report)];
}

describe('the text of the metrics', () => {
  it('has every metric of the table with its type, help and labels', async () => {
    const otlp = new OtlpExporter(() => {}).metrics();
    const member = { status: () => fleetJson({ problem: undefined, now, instances: [] }), refusal: undefined };
    const fleet = fleetGauges(member, { isStoreUp: true, spoolRatio: 0, outbox: undefined });
    const frozen = { version: 'v1', from: now, mode: 'report', state: 'active', known: 1, newClients: 2 } as const;
    const freezes = freezeGauges([{ ...frozen, reason: undefined }]);
    const brownouts = brownoutGauge([{ version: 'v1', state: 'running' }]);
    const edits = editWatchGauge([{ version: 'v1', jumped: 'yes', known: true, state: 'ended' }]);
    const copies = { shadow: { compared: 2 }, control: { failed: 1 } };
    const until = '2030-01-01T00:00:00Z';
    const shadow = { version: 'v1', to: 'v2', state: 'running', until, copies, dropped: { queue: 1 } } as const;
    const features = [...freezes, brownouts, edits, ...shadowMetrics([shadow])];
    const state = [
      ...gauges(snapshot, report, config, now),
      ...features,
      ...ledgerGauges(ledger, undefined, now),
      ...fleet,
    ];
    const { families } = parseMetrics(await exposition([await ofProcess(), state, otlp]));
    for (const [name, { type, help, labels }] of Object.entries(metricTable)) {
      const family = families.get(name);
      expect(family, name).toMatchObject({ type, help });
      for (const sample of family?.samples ?? []) {
        const own = Object.keys(sample.labels).filter((label) => label !== 'le');
        expect(own, name).toEqual([...labels]);
      }
    }
    expect([...families.keys()].filter((name) => !(name in metricTable) && !/^(process|nodejs)_/.test(name))).toEqual(
      [],
    );
  });

  it.each(Object.entries(metricTable))('%s is named as Prometheus advises', (name, { type }) => {
    expect(name).toMatch(/^version_gateway_[a-z]+(_[a-z]+)*$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    if (type === 'histogram') expect(name).toMatch(/_(seconds|bytes)$/);
    expect(name).not.toMatch(/_(ms|milliseconds|kilobytes|count|sum|bucket)$/);
  });
});

describe('a count', () => {
  it('has labels for version, stage, method and class, and none that a client can choose', async () => {
    const { value } = await read(
      counted(
        {},
        {},
        { method: 'POST', status: 503, stage: 'sunset' },
        { method: 'BREW', status: 499 },
        { version: '', stage: undefined, path: '/nothing', status: 404 },
      ),
    );
    const requests = (labels: object) => value('version_gateway_requests_total', labels);
    expect(requests({ version: 'v1', stage: 'active', method: 'GET', class: '2xx' })).toBe(2);
    expect(requests({ version: 'v1', stage: 'sunset', method: 'POST', class: '5xx' })).toBe(1);
    expect(requests({ version: 'v1', stage: 'active', method: 'other', class: '4xx' })).toBe(1);
    expect(requests({ version: 'unknown', stage: 'unknown', method: 'GET', class: '4xx' })).toBe(1);
  });

  it('adds up bytes, retries, faults and problems', async () => {
    const { value } = await read(
      counted({ retries: 1 }, { fault: 'target', problem: 'TARGET_FAILED', status: 502 }, { fault: 'client' }),
    );
    expect(value('version_gateway_request_bytes_total', { version: 'v1' })).toBe(9);
    expect(value('version_gateway_response_bytes_total', { version: 'v1' })).toBe(15);
    expect(value('version_gateway_retries_total', { version: 'v1' })).toBe(1);
    expect(value('version_gateway_failures_total', { version: 'v1', fault: 'target' })).toBe(1);
    expect(value('version_gateway_failures_total', { version: 'v1', fault: 'gateway' })).toBe(0);
    expect(value('version_gateway_problems_total', { version: 'v1', code: 'TARGET_FAILED' })).toBe(1);
  });

  it('has the lost requests of a version, with those that the gateway itself refuses, except on purpose', () => {
    const statuses = [200, 301, 400, 403, 404, 404, 405, 410, 429, 499, 500, 501, 502, 503, 504, 505, 508];
    const metrics = counted(
      ...statuses.map((status) => ({ status })),
      { status: 503, problem: 'VERSION_BROWNOUT', restrictedBy: 'brownout' },
      { status: 403, problem: 'VERSION_FROZEN', restrictedBy: 'freeze' },
      { status: 410, problem: 'VERSION_RETIRED' },
      { status: 410, problem: 'ROUTE_NOT_ADAPTED' },
      { status: 503, problem: 'NO_HEALTHY_TARGET' },
      { status: 400, problem: 'BAD_REQUEST' },
      { status: 408, problem: 'REQUEST_TIMED_OUT' },
      { status: 413, problem: 'BODY_TOO_LARGE' },
      { status: 414, problem: 'TARGET_TOO_LONG' },
      { status: 431, problem: 'HEAD_TOO_LARGE' },
      { status: 404, problem: 'UNKNOWN_VERSION', version: '' },
      { status: 404, version: 'v2' },
    );
    metrics.atFormerPath('v2');
    metrics.atFormerPath('v3');
    expect(metrics.answers()).toEqual({
      v1: {
        requests: statuses.length + 6,
        lost: { 400: 1, 404: 2, 405: 1, 408: 1, 413: 1, 414: 1, 431: 1, 502: 1, 503: 2, 504: 1, 508: 1 },
      },
      v2: { requests: 2, lost: { 404: 2 } },
      v3: { requests: 1, lost: { 404: 1 } },
    });
  });

  it('leaves out the duration of event streams', async () => {
    const { value } = await read(counted({ duration: 9 }, { duration: 3_600_000, streamed: true }));
    const of = (name: string) => value(`version_gateway_${name}`, { version: 'v1' });
    expect([of('request_duration_seconds_count'), of('response_bytes_total')]).toEqual([1, 10]);
  });

  it('adds a duration to every bucket with a higher or equal bound', async () => {
    const name = 'version_gateway_request_duration_seconds';
    const { value } = await read(counted({ duration: 1 }, { duration: 30 }, { duration: 90_000 }));
    const below = (le: string) => value(`${name}_bucket`, { version: 'v1', le });
    expect(['0.001', '0.025', '0.05', '60', '+Inf'].map(below)).toEqual([1, 1, 2, 2, 3]);
    expect(value(`${name}_count`, { version: 'v1' })).toBe(3);
    expect(value(`${name}_sum`, { version: 'v1' })).toBeCloseTo(90.031, 6);
  });

  it('counts open upgrades, without their duration', async () => {
    const metrics = new Metrics();
    metrics.tunnelOpened('v1');
    metrics.tunnelOpened('v1');
    metrics.record({ ...successfulExchange, status: 101 });
    const { value } = await read(metrics);
    expect(value('version_gateway_upgrades_open', { version: 'v1' })).toBe(1);
    expect(value('version_gateway_request_duration_seconds_count', { version: 'v1' })).toBe(0);
  });

  it('is the sum of several processes', async () => {
    const { value } = await read(counted({}, { duration: 1 }), counted({}, { version: 'v2' }));
    const of = (version: string) => ({ version, stage: 'active', method: 'GET', class: '2xx' });
    expect(value('version_gateway_requests_total', of('v1'))).toBe(3);
    expect(value('version_gateway_requests_total', of('v2'))).toBe(1);
    expect(value('version_gateway_request_duration_seconds_bucket', { version: 'v1', le: '0.025' })).toBe(3);
    expect(value('version_gateway_upstream_duration_seconds_count', { version: 'v1' })).toBe(3);
  });

  it('does not decrease when a process ends, and counts a late process once', async () => {
    const totals = new WorkerTotals();
    const worker = async (pid: number) => ({ pid, since: pid, metrics: await counted({}).json() });
    const [first, second] = [await worker(1), await worker(2)];
    const total = async (...present: (typeof first)[]) => {
      const { workers, metricsOfAbsentProcesses = [] } = await totals.merge(
        [Promise.resolve({ versions: [], workers: present })],
        true,
      );
      const { value } = parseMetrics(
        await exposition([...workers.map(({ metrics = [] }) => metrics), ...metricsOfAbsentProcesses]),
      );
      return value('version_gateway_retries_total', { version: 'v1' }) === 0
        ? value('version_gateway_requests_total', { version: 'v1', stage: 'active', method: 'GET', class: '2xx' })
        : undefined;
    };
    expect(await total(first, second)).toBe(2);
    expect(await total(second)).toBe(2);
    expect(await total(first, second)).toBe(2);
    for (let pid = 3; pid < 103; pid += 1) await total(await worker(pid));
    expect(await total()).toBe(102);
  });
});

describe('a gauge', () => {
  const parts = [
    gauges(snapshot, report, config, now),
    ejectionsIn(report),
    ledgerGauges(ledger, undefined, now + 90_000),
  ];
  const read = async () => parseMetrics(await exposition(parts));

  it.each([
    ['version_gateway_requests_in_flight', { version: 'v1' }, 2],
    ['version_gateway_requests_waiting', { version: 'v1' }, 1],
    ['version_gateway_last_request_timestamp_seconds', { version: 'v1' }, (now - 1000) / 1000],
    ['version_gateway_last_request_timestamp_seconds', { version: 'v3' }, undefined],
    ['version_gateway_deprecated_version_in_use', { version: 'v1' }, 1],
    ['version_gateway_deprecated_version_in_use', { version: 'v2' }, 0],
    ['version_gateway_deprecated_version_in_use', { version: 'v3' }, undefined],
    ['version_gateway_deprecated_version_in_use', { version: 'v4' }, undefined],
    ['version_gateway_days_until_sunset', { version: 'v1' }, 10],
    ['version_gateway_days_until_sunset', { version: 'v2' }, undefined],
    ['version_gateway_target_up', { version: 'v1', target: upstream }, 0],
    ['version_gateway_target_ejections_total', { version: 'v1', target: upstream }, 3],
    ['version_gateway_ledger_up', {}, 0],
    ['version_gateway_ledger_held_rows', {}, 1],
    // The row has waited since `now`.
    ['version_gateway_counts_waiting_seconds', {}, 90],
    ['version_gateway_coverage_start_timestamp_seconds', { version: 'v1' }, (now - 86_400_000) / 1000],
    ['version_gateway_coverage_start_timestamp_seconds', { version: 'v3' }, undefined],
    ['version_gateway_config_reloads_total', { result: 'ok' }, 2],
    ['version_gateway_config_reloads_total', { result: 'failed' }, 4],
    ['version_gateway_config_generation', {}, 3],
    ['version_gateway_config_last_reload_successful', {}, 0],
    ['version_gateway_config_last_success_timestamp_seconds', {}, now / 1000],
  ])('%s of %j is %s', async (name, labels, expected) => {
    expect((await read()).value(name, labels)).toBe(expected);
  });
});

it('says that no requests are lost since an edit only if that is known', async () => {
  const watches = [
    { version: 'v1', jumped: 'no', known: true, state: 'ended' },
    { version: 'v2', jumped: 'not known', known: false, state: 'ended' },
    { version: 'v3', jumped: 'yes', known: true, state: 'recovered' },
    { version: 'v4', jumped: 'yes', known: true, state: 'ended' },
    { version: 'v4', jumped: 'not known', known: false, state: 'watching' },
    { version: 'v5', jumped: 'no', known: true, state: 'ended' },
    { version: 'v5', jumped: 'not known', known: false, state: 'watching' },
  ] as const;
  const { value } = parseMetrics(await exposition([[editWatchGauge(watches)]]));
  const values = ['v1', 'v2', 'v3', 'v4', 'v5'].map((version) =>
    value('version_gateway_lost_requests_jumped', { version }),
  );
  expect(values).toEqual([0, undefined, 0, 1, undefined]);
});

it('counts the requests of a gateway', async () => {
  const backend = await startBackend();
  const metrics = new Metrics();
  const { port } = await startRecorded({ '/v1': backend.url }, {}, metrics);
  await ask(port, get('/v1/x'));
  await ask(port, get('/v7/x'));
  await eventually(async () => {
    const { value } = await read(metrics);
    expect(value('version_gateway_upstream_duration_seconds_count', { version: 'v1' })).toBe(1);
    expect(value('version_gateway_problems_total', { version: 'unknown', code: 'UNKNOWN_VERSION' })).toBe(1);
  });
});

it('names the API of a version in every metric with a label for it, unless it is the one at the root', async () => {
  const metrics = counted(
    ...['v1', 'orders/v1', ''].map((version) => ({
      version,
      problem: 'ADAPTER_FAILED' as const,
      fault: 'target' as const,
    })),
  );
  const text = await exposition([await metrics.json()]);
  const lines = text.split('\n').filter((line) => line.includes('version="'));
  const ofOrders = lines.filter((line) => line.includes('version="orders/v1"'));
  expect(ofOrders.length).toBeGreaterThan(10);
  expect(ofOrders.filter((line) => !line.includes('api="/orders"'))).toEqual([]);
  expect(lines.filter((line) => !ofOrders.includes(line) && line.includes('api='))).toEqual([]);
});
