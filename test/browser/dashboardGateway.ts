import type { RequestListener } from 'node:http';
import { snapshotFrom } from '../../gateway/config/load.ts';
import type { ReloadOutcome } from '../../gateway/operate/admin/adminApi.ts';
import { createAdmin } from '../../gateway/operate/admin/app.ts';
import type { FleetOperations } from '../../gateway/operate/admin/operations.ts';
import type { LedgerClient } from '../../gateway/operate/admin/reading/ledgerClient.ts';
import { type FleetJson, fleetJson } from '../../gateway/operate/fleet/fleetJson.ts';
import { instancesOf } from '../../gateway/operate/fleet/fleetView.ts';
import type { GatewayRow } from '../../gateway/operate/fleet/membership.ts';
import type { NotifyJson } from '../../gateway/operate/notify/dispatcher.ts';
import { Metrics } from '../../gateway/usage/observability/metrics.ts';
import { TrafficSamples } from '../../gateway/usage/observability/recentTraffic.ts';
import type { ConfigStatus, TargetReport, WorkerReport } from '../../gateway/usage/observability/report.ts';
import type { UsageQueries } from '../../gateway/usage/usageQueries.ts';
import { type VersionWatch, watchStatus } from '../../gateway/versions/editWatch/watchStatus.ts';
import { directLedgerClient } from '../support/directLedgerClient.ts';
import { idleFeatures, idleOperations } from '../support/idleOperations.ts';
import { successfulExchange } from '../usage/observability/recorded.ts';
import { sampleUsage } from './sampleUsage.ts';

export const now = Date.parse('2026-11-21T10:20:00Z');

const everyStage = {
  '/v0': { retired: true, deprecation: '2024-03-01', sunset: '2025-03-01', successor: '/v1' },
  '/v1': {
    upstream: 'http://127.0.0.1:3001',
    deprecation: '2026-03-01',
    sunset: '2027-06-30T23:59:59Z',
    successor: '/v2',
    moved: { '/drinks/{id}': '/cocktails/{id}', '/legacy-search': null },
  },
  '/v2': { upstream: ['http://127.0.0.1:3002', 'http://127.0.0.1:3012'], deprecation: '2027-09-01' },
  '/v3': 'http://127.0.0.1:3003',
};

/** The data of the page. A test may change it while the page is open. */
export interface Scene {
  target: TargetReport;
  config: ConfigStatus;
  ready: boolean;
  usage: UsageQueries | undefined;
  /** In place of `usage`. */
  ledgerClient?: LedgerClient;
  reloads: number;
  outcome: ReloadOutcome;
  workers: readonly WorkerReport[];
  /** The counts of all processes since the start, a minute ago. */
  readonly metrics: Metrics;
  readonly clock: { now(): number };
  fleet?: FleetOperations | undefined;
  /** What became of the requests after the last edits. */
  editWatches: readonly VersionWatch[];
  /** Undefined: no webhook is configured. */
  notify?: NotifyJson | undefined;
  readonly listener: RequestListener;
}

/** The admin listener of a gateway with four versions, of which v1 is deprecated. */
export function scene(
  token?: string,
  routes: Readonly<Record<string, unknown>> = everyStage,
  usage: Readonly<Record<string, unknown>> = {},
  retire: Readonly<Record<string, unknown>> = {},
): Scene {
  const current = snapshotFrom({
    routes,
    usage,
    retire,
    ...(token !== undefined && { gateway: { admin_token: token } }),
  });
  const state: Omit<Scene, 'listener'> = {
    target: target('http://127.0.0.1:3001', 3),
    config: {
      fingerprint: '4f2a91c07be1d0aa',
      generation: 7,
      loadedAt: now - 5 * 3_600_000,
      trigger: 'file',
      forced: [],
      lastFailure: undefined,
    },
    ready: true,
    usage: sampleUsage(now),
    reloads: 0,
    outcome: { kind: 'unchanged' },
    workers: [{ pid: 4711, since: now - 5 * 3_600_000 }],
    metrics: busyMinute(),
    editWatches: [],
    clock: { now: () => now },
  };
  const served = (name: string, targets: readonly TargetReport[]) => ({
    name,
    inFlight: targets.reduce((sum, { inFlight }) => sum + inFlight, 0),
    waiting: 0,
    lastInFlight: now - 4_000,
    targets,
  });
  let elapsed = 0;
  const listener = createAdmin(
    { current },
    { ready: () => state.ready },
    idleOperations({
      configuration: {
        reload: async () => {
          state.reloads += 1;
          return state.outcome;
        },
        snapshotOf: async () => current,
        get status() {
          return state.config;
        },
      },
      live: {
        report: async (content) => ({
          versions: [
            served('v1', [state.target]),
            served('v2', [target('http://127.0.0.1:3002', 12), target('http://127.0.0.1:3012', 9)]),
            served('v3', [target('http://127.0.0.1:3003', 41)]),
          ],
          workers: await Promise.all(
            state.workers.map(async (one) => ({
              ...one,
              metrics: content?.withMetrics ? await state.metrics.json() : undefined,
            })),
          ),
        }),
        get fleet() {
          return state.fleet;
        },
        get ledger() {
          return state.ledgerClient ?? (state.usage && directLedgerClient(state.usage));
        },
      },
      features: [
        ...idleFeatures({
          get fleet() {
            return state.fleet;
          },
        }),
        { status: () => ({ edit_watch: state.editWatches.map(watchStatus), notify: state.notify ?? null }) },
      ],
      clock: { now: () => state.clock.now() },
      traffic: new TrafficSamples(() => elapsed),
    }),
  );
  elapsed = 60_000;
  return Object.assign(state, { listener });
}

/** A fleet of these gateways, all with version v1 in service. `now` is also the time of the store. */
export function fleetOf(
  rows: readonly GatewayRow[],
  changes: Partial<FleetJson> = {},
  refusal?: string[],
): FleetOperations {
  const instances = instancesOf({ rows }, now, 10_000);
  return {
    status: () => ({ ...fleetJson({ problem: undefined, now, instances }), ...changes }),
    refusal,
    readGateways: async () => true,
    stopBlockers: () => [],
    facts: () => ({ heard: instances.length, inFlight: 0, waiting: 0, gaps: [], remarksOnUnsent: [], notes: [] }),
    createCountsQuestion: () => ({ id: now, at: now }),
    awaitCounts: async () => new Map(),
    forget: async () => ({ forgotten: 0 }),
  };
}

/** 20 s after an edit, v2 loses requests, and nothing is known about v1. */
export function watchesAfterEdit(): VersionWatch[] {
  const [former, edited] = ['http://127.0.0.1:3002', 'http://127.0.0.1:3009/<b>'];
  const changes = [`/v2: target ${edited} added, target ${former} removed`];
  const watch: VersionWatch = {
    version: 'v2',
    jumped: 'yes',
    state: 'watching',
    edits: [{ at: now - 20_000, changes }],
    until: now + 40_000,
    before: { requests: 6_300, lost: { 404: 12 } },
    beforeMs: 300_000,
    after: { requests: 420, lost: { 404: 12, 502: 390 } },
    afterMs: 20_000,
    editedValues: () => [
      {
        version: '/v2',
        api: undefined,
        section: 'routes',
        key: 'routes./v2.upstream',
        line: 12,
        before: former,
        after: edited,
        undo: `routes.yaml:12  routes./v2.upstream: write ${former} instead of ${edited}`,
      },
    ],
    foundAt: now - 15_000,
    recoveredAt: undefined,
    hasSilentWorker: false,
  };
  const none = { requests: 0, lost: {} };
  return [watch, { ...watch, version: 'v1', jumped: 'not known', before: none, after: none, foundAt: undefined }];
}

/** v3 is the fastest and v1 the slowest; some responses of v1 are errors. */
function busyMinute(): Metrics {
  const metrics = new Metrics();
  const record = (version: string, times: number, duration: (nth: number) => number, failing = 0): void => {
    for (let nth = 0; nth < times; nth += 1)
      metrics.record({ ...successfulExchange, version, duration: duration(nth), status: nth < failing ? 502 : 200 });
  };
  record('v1', 192, (nth) => (nth % 60 === 0 ? 1_900 : 60 + (nth % 50)), 5);
  record('v2', 1_260, (nth) => (nth % 40 === 0 ? 220 : 9 + (nth % 9)));
  record('v3', 2_460, (nth) => (nth % 80 === 0 ? 48 : 2 + (nth % 3)));
  record('', 7, () => 1);
  return metrics;
}

function target(url: string, inFlight: number): TargetReport {
  return { url, inFlight, connections: inFlight + 2, reachable: true, health: 'healthy', ejectedUntil: undefined };
}
