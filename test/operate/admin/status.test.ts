import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import type { Snapshot } from '../../../gateway/config/snapshot.ts';
import { LastUse } from '../../../gateway/operate/admin/lastUse.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { systemClock } from '../../../gateway/shared/clock.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { mergeReports } from '../../../gateway/usage/observability/report.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { servedSnapshot, startServed } from '../../contracts/adapters/servedVersion.ts';
import { runIn } from '../../process/cli/io.ts';
import { answer, okAnswer, startBackend } from '../../support/backend.ts';
import { directLedgerClient } from '../../support/directLedgerClient.ts';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl, startTestGateway } from '../../support/gateway.ts';
import { hostOf } from '../../support/hostOf.ts';
import { row as callOf, ledgerWith } from '../../support/ledgerWith.ts';
import { ask, connectTo, get } from '../../support/rawClient.ts';
import { readLedger } from '../../support/readLedger.ts';
import { withForce } from '../../support/withForce.ts';
import { row } from '../../usage/model.ts';
import { parseMetrics } from '../../usage/observability/parseMetrics.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

function served(version: string, last: number, client = 'a') {
  return row({ version, client, route: 'GET /', first: last });
}

/** A gateway, and functions that read its admin listener. */
async function start(store: string, more: Readonly<Record<string, unknown>> = {}) {
  const backend = await startBackend();
  const deprecated = { upstream: backend.url, deprecation: '2026-01-01' };
  const snapshot = snapshotFrom({
    routes: { '/v1': deprecated, '/v2': deprecated, '/v3': { ...deprecated, retired: true }, '/v4': backend.url },
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
    usage: { store, ...more },
  });
  const ledger = Ledger.open(snapshot.usage, { clock: systemClock });
  const gateway = await startGateway(snapshot, { ledger });
  onTestFinished(async () => {
    await gateway.close();
    ledger.close();
  });
  const url = `http://127.0.0.1:${gateway.adminPort}`;
  return {
    ledger,
    port: gateway.port,
    scrape: async () => parseMetrics(await (await fetch(`${url}/metrics`)).text()),
    status: async () =>
      (await (await fetch(`${url}/api/status`)).json()) as {
        usage: object | null;
        versions: { version: string; last_served: string | null }[];
      },
  };
}

it('a call with a time in the future is one now', async () => {
  const last = 1_000_000;
  const report = { workers: [], versions: [{ name: 'v1', inFlight: 0, waiting: 0, lastInFlight: last, targets: [] }] };
  const snapshot = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1' } });
  const lastUse = new LastUse({ ledger: undefined, fleet: undefined });
  expect((await lastUse.addTo(report, snapshot, last - 5_000)).versions[0]?.lastInFlight).toBe(last - 5_000);
  expect((await lastUse.addTo(report, snapshot, last + 5_000)).versions[0]?.lastInFlight).toBe(last);
});

it('a version is in use if it was used in the quiet period of its own API', async () => {
  const now = Date.now();
  const api = (quiet: string) => snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1' }, guard: { quiet } });
  const host = hostOf(api('1h'), { '/orders': api('48h'), '/pay': api('12h'), '/shop': api('off') });
  const versions = [...host.versions.keys()];
  const rows = versions.map((version) => callOf(version, 'x-client-id:a', now - 20 * hourMs));
  const { queries, ledger } = ledgerWith(rows, now - 10 * dayMs);
  ledger.add([callOf('other/v1', 'x-client-id:a', now)]);
  const lastUse = new LastUse({ ledger: directLedgerClient(queries), fleet: undefined });
  const idle = { inFlight: 0, waiting: 0, lastInFlight: undefined, targets: [] };
  const report = { workers: [], versions: versions.map((name) => ({ name, ...idle })) };
  const found = (await lastUse.addTo(report, host, now)).versions;
  expect(Object.fromEntries(found.map(({ name, inUse }) => [name, inUse]))).toEqual({
    v1: 'no',
    'orders/v1': 'yes',
    'pay/v1': 'no',
    // Without a guard, a day.
    'shop/v1': 'yes',
  });
});

it('metrics show usage from before the start', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  const last = Date.now() - hourMs;
  const before = Ledger.open({ store, retention: 400 * dayMs }, { clock: systemClock });
  const [{ began: firstRun } = {}] = new DatabaseSync(store, { readOnly: true })
    .prepare('SELECT began FROM runs')
    .all();
  const began = Number(firstRun) / 1000;
  before.add([served('v1', last), served('v2', last - 30 * dayMs), served('v3', last)]);
  before.close();
  const { scrape } = await start(store);
  // A request waits at most 2 s for the ledger. On a busy machine only a later one has the result.
  await eventually(async () => {
    const { value } = await scrape();
    const known = (name: string) => ['v1', 'v2', 'v3', 'v4'].map((version) => value(name, { version }));
    // The ledger begins now, so it is not known whether v2 was called in the quiet period.
    expect(known('version_gateway_deprecated_version_in_use')).toEqual([1, undefined, undefined, undefined]);
    // The last request of a retired version in the ledger was answered 410.
    expect(known('version_gateway_last_request_timestamp_seconds')).toEqual([
      last / 1000,
      last / 1000 - (30 * dayMs) / 1000,
      undefined,
      undefined,
    ]);
    // Also of a version that is retired, and of one without a call.
    expect(known('version_gateway_coverage_start_timestamp_seconds')).toEqual(Array(4).fill(began));
  });
});

it('a retired version is not safe to stop while an adapter serves another version from its backend', async () => {
  const source = { deprecation: '2024-01-01', sunset: '2024-02-01', after_sunset: 'gone' };
  const waitFor = async (version: Readonly<Record<string, unknown>>) => {
    const drink = '{"title":"Mojito","price":7}';
    const { port, adminPort } = await startServed(answer(200, drink, 'Content-Type: application/json'), {
      source,
      version,
    });
    const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    const statuses = [await statusOf('/v1/drinks/7'), await statusOf('/v2/cocktails/7')];
    const args = ['status', '--wait', 'v2', '--timeout', '1s', '--admin', `127.0.0.1:${adminPort}`];
    return { statuses, ...(await runIn('/', args)) };
  };
  expect(await waitFor({})).toMatchObject({
    statuses: [200, 410],
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('/v2: still used by the adapter of /v1 after 1s'),
  });
  expect(await waitFor(source)).toMatchObject({ statuses: [410, 410], code: 0 });
});

it('the own backend of an adapted version is not safe to stop if it also serves another version', async () => {
  const wait = async (version: Readonly<Record<string, unknown>>) => {
    const { adminPort } = await startServed(okAnswer, { version });
    return runIn('/', ['status', '--wait', 'v1', '--timeout', '1s', '--admin', `127.0.0.1:${adminPort}`]);
  };
  // By default, both versions have the same upstream.
  expect(await wait({})).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('/v1: still used by /v2'),
  });
  expect(await wait({ upstream: 'http://127.0.0.1:1' })).toMatchObject({ code: 0 });
});

it('a retired version is not safe to stop while another version has the same upstream', async () => {
  const shared = await startBackend();
  const wait = async (v2: Readonly<Record<string, unknown>>) => {
    const routes = { '/v1': { upstream: `${shared.url}/`, retired: true }, '/v2': { upstream: shared.url, ...v2 } };
    const { adminPort } = await startTestGateway(routes);
    return runIn('/', ['status', '--wait', 'v1', '--timeout', '1s', '--admin', `127.0.0.1:${adminPort}`]);
  };
  expect(await wait({})).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('/v1: still used by /v2 after 1s'),
  });
  expect(await wait({ upstream: await refusedUrl() })).toMatchObject({ code: 0 });
  expect(await wait({ retired: true })).toMatchObject({ code: 0 });
});

interface StopStatus {
  readonly version: string;
  readonly in_flight: number;
  readonly safe_to_stop: boolean;
  readonly known: boolean;
  readonly blocked_by?: readonly string[];
}

async function stopStatuses(adminPort: number): Promise<readonly StopStatus[]> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/api/status`);
  return ((await response.json()) as { versions: readonly StopStatus[] }).versions;
}

it('a retired version is not safe to stop if another version reaches its backend under another name', async () => {
  const { port } = await startBackend();
  for (const host of ['127.0.0.1', '[::1]', 'localhost.']) {
    const retired = { upstream: `http://localhost:${port}`, retired: true };
    const { adminPort } = await startTestGateway({ '/v1': retired, '/v2': `http://${host}:${port}` });
    const [v1] = await stopStatuses(adminPort);
    expect(v1, host).toMatchObject({ safe_to_stop: false, known: true, blocked_by: ['used by /v2'] });
  }
});

it.each([
  ['names no backend any more', undefined],
  ['names another backend', 'http://127.0.0.1:1'],
])(
  'a retired version is not safe to stop if its backend now serves another version, and it %s',
  async (_name, upstream) => {
    const { url } = await startBackend();
    const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0' };
    const snapshots = [
      { '/v1': url, '/v2': 'http://127.0.0.1:1' },
      { '/v1': { upstream, retired: true }, '/v2': url },
      {
        '/v1': {
          upstream: upstream ?? 'http://127.0.0.1:1',
          deprecation: '2025-01-01',
          sunset: '2026-01-01',
          after_sunset: 'gone',
        },
        '/v2': url,
      },
      // A later edit changes nothing of it.
      { '/v1': { upstream, retired: true, info: 'https://example.com' }, '/v2': url },
    ].map((routes, edit) => {
      const force = Object.fromEntries(['/v1', '/v2'].map((version) => [version, `edit ${edit}`]));
      return snapshotFrom({ gateway, guard: { trial: 'off', force }, routes });
    });
    const running = await startGateway(snapshots[0] as Snapshot, { load: () => snapshots.shift() as Snapshot });
    onTestFinished(() => running.close());
    snapshots.shift();
    for (let edit = 0; edit < 3; edit += 1) {
      expect((await running.reload('admin')).kind).toBe('reloaded');
      const [v1] = await stopStatuses(running.adminPort);
      expect(v1).toMatchObject({ safe_to_stop: false, known: true, blocked_by: ['used by /v2'] });
    }
  },
);

it('it is not known whether a tombstone is safe to stop if its backend was never named', async () => {
  const { adminPort } = await startTestGateway({ '/v1': { retired: true }, '/v2': 'http://127.0.0.1:1' });
  const [v1] = await stopStatuses(adminPort);
  const blocker = 'its backend is not known: routes.yaml names none, and it named none since the start of the gateway';
  expect(v1).toMatchObject({ safe_to_stop: false, known: false, blocked_by: [blocker] });
  const args = ['status', '--wait', 'v1', '--timeout', '1ms', '--admin', `127.0.0.1:${adminPort}`];
  expect(await runIn('/', args)).toMatchObject({ code: 3, stderr: expect.stringContaining(blocker) });
});

it('a version that gets an adapter and names no backend any more keeps the one that it had', async () => {
  const { url } = await startBackend();
  const [other, more] = ['http://127.0.0.1:1', { '/v3': url }];
  const before = snapshotFrom({ gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' }, routes: { '/v1': url } });
  const [adapted, adaptedBeside] = [{}, more].map((routes) =>
    servedSnapshot(other, { version: { upstream: undefined }, routes, gateway: {} }),
  ) as [Snapshot, Snapshot];
  const statusOfV1 = async (next: Snapshot) => {
    const forced = { ...next, apis: withForce(next, ['v1'], { trial: 0 }) };
    const running = await startGateway(before, { load: () => forced });
    onTestFinished(() => running.close());
    expect((await running.reload('admin')).kind).toBe('reloaded');
    return (await stopStatuses(running.adminPort)).find(({ version }) => version === 'v1');
  };
  expect(await statusOfV1(adapted)).toMatchObject({ safe_to_stop: true });
  expect(await statusOfV1(adaptedBeside)).toMatchObject({ safe_to_stop: false, blocked_by: ['used by /v3'] });
});

it('a retired version is not safe to stop while an adapter uses its backend under the name of another retired version', async () => {
  const { url } = await startBackend();
  const ended = { upstream: url, deprecation: '2024-01-01', sunset: '2024-02-01', after_sunset: 'gone' };
  const snapshot = servedSnapshot('http://127.0.0.1:1', { routes: { '/v0': ended }, source: ended });
  const running = await startGateway(snapshot);
  onTestFinished(() => running.close());
  const versions = await stopStatuses(running.adminPort);
  for (const name of ['v0', 'v2'])
    expect(versions.find(({ version }) => version === name)).toMatchObject({
      safe_to_stop: false,
      blocked_by: ['used by the adapter of /v1'],
    });
});

it('a retired version keeps the backend that served its waived clients', async () => {
  const { url } = await startBackend();
  const waivers = [{ client: 'x-client-id:acme', until: '2099-01-01', reason: 'a contract' }];
  const edits = [
    { '/v1': 'http://127.0.0.1:1', '/v2': 'http://127.0.0.1:1' },
    { '/v1': { upstream: url, retired: true, waivers }, '/v2': 'http://127.0.0.1:1' },
    { '/v1': { retired: true }, '/v2': url },
  ].map((routes, edit) =>
    snapshotFrom({
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
      guard: { trial: 'off', force: { '/v1': `edit ${edit}`, '/v2': `edit ${edit}` } },
      routes,
    }),
  );
  const running = await startGateway(edits.shift() as Snapshot, { load: () => edits.shift() as Snapshot });
  onTestFinished(() => running.close());
  expect((await running.reload('admin')).kind).toBe('reloaded');
  expect((await running.reload('admin')).kind).toBe('reloaded');
  expect((await stopStatuses(running.adminPort))[0]).toMatchObject({
    safe_to_stop: false,
    blocked_by: ['used by /v2'],
  });
});

describe('a retired version is not safe to stop while its backend has open requests of', () => {
  /** The status of `version` after a reload during a request. */
  const statusAfter = async (before: Snapshot, after: Snapshot, path: string, version: string) => {
    const changed = { ...after, fingerprint: 'changed', apis: withForce(after, ['v0', 'v1', 'v2']) };
    const running = await startGateway(before, { load: () => changed });
    onTestFinished(() => running.close());
    const statuses = () => stopStatuses(running.adminPort);
    const client = await connectTo(running.port);
    client.send(get(path));
    await eventually(async () => expect((await statuses()).map((one) => one.in_flight)).toContain(1));
    expect((await running.reload('admin')).kind).toBe('reloaded');
    return (await statuses()).find((one) => one.version === version);
  };
  const blockedBy = (version: string) => {
    return { safe_to_stop: false, known: true, blocked_by: [`used by 1 open request of /${version}`] };
  };
  // No response is given.
  const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '60s' };
  const settings = { gateway, guard: { trial: 'off' } };

  it.each([
    ['another retired version', { retired: true }],
    ['a removed version', undefined],
    ['a version that now has another backend', { upstream: 'http://127.0.0.1:1' }],
  ])('%s', async (_name, v0) => {
    const { url } = await startBackend([]);
    const snapshot = (one: object | undefined) =>
      snapshotFrom({
        routes: {
          ...(one && { '/v0': { upstream: url, ...one } }),
          '/v1': { upstream: url, retired: true },
          '/v9': 'http://127.0.0.1:1',
        },
        ...settings,
      });
    expect(await statusAfter(snapshot({}), snapshot(v0), '/v0/drinks', 'v1')).toMatchObject(blockedBy('v0'));
  });

  it('a retired version that an adapter served from it', async () => {
    const { url } = await startBackend([]);
    const ended = { deprecation: '2024-01-01', sunset: '2024-02-01', after_sunset: 'gone' };
    const own = { upstream: 'http://127.0.0.1:1' };
    const before = servedSnapshot(url, { gateway, version: own });
    const after = servedSnapshot(url, { gateway, version: { ...own, ...ended }, source: ended });
    expect(await statusAfter(before, after, '/v1/drinks/7', 'v2')).toMatchObject(blockedBy('v1'));
  });
});

it('reports a ledger that cannot be written, and its recovery', async () => {
  const store = join(temporaryFolder(), 'kept', 'usage.db');
  // A file is in place of its folder.
  writeFileSync(dirname(store), '');
  const { ledger, scrape, status } = await start(store);
  ledger.add([served('v1', Date.now()), served('v2', Date.now())]);
  const down = await scrape();
  expect(down.value('version_gateway_ledger_up', {})).toBe(0);
  expect(down.value('version_gateway_ledger_held_rows', {})).toBe(2);
  expect(down.value('version_gateway_counts_waiting_seconds', {})).toBeGreaterThan(0);
  expect((await status()).usage).toEqual({
    problem: expect.stringContaining('a part of its path is not a folder'),
    held_rows: 2,
  });
  rmSync(dirname(store));
  mkdirSync(dirname(store));
  ledger.close();
  const up = await scrape();
  expect(up.value('version_gateway_ledger_up', {})).toBe(1);
  expect(up.value('version_gateway_ledger_held_rows', {})).toBe(0);
  expect(up.value('version_gateway_counts_waiting_seconds', {})).toBe(0);
  expect((await status()).usage).toEqual({ problem: null, held_rows: 0 });
});

it('reports a ledger that was overwritten while it was open, also after its recovery', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  const { ledger, scrape, status } = await start(store);
  ledger.add([served('v1', Date.now())]);
  const incident = 'version_gateway_ledger_last_incident_timestamp_seconds';
  expect([(await status()).usage, (await scrape()).value(incident, {})]).toEqual([
    { problem: null, held_rows: 0 },
    undefined,
  ]);
  writeFileSync(store, 'this is no database');
  await ledger.flush();
  const problem = expect.stringMatching(/usage\.db could not be used: .* It was renamed to .*usage\.db\.corrupt-/);
  expect((await status()).usage).toEqual({ problem, held_rows: 0 });
  const { value } = await scrape();
  expect(value(incident, {})).toBeGreaterThan(Date.now() / 1000 - 60);
  expect(value('version_gateway_ledger_up', {})).toBe(1);
});

it('counts folded requests, whether folded before the ledger or in it', async () => {
  const { ledger, port, scrape } = await start(join(temporaryFolder(), 'usage.db'), { max_clients: 2 });
  // The process tracks two clients, and the ledger keeps two of all processes and hours.
  const others = Array.from({ length: 30 }, (_one, n) => served('v4', Date.now(), `other-${n}`));
  ledger.add(others);
  for (const client of ['a', 'b', 'c', 'd', 'd']) await ask(port, get('/v4/x', `X-Client-Id: ${client}`));
  await eventually(async () => expect(await readLedger(ledger).totals(0)).toMatchObject([{ requests: 35 }]));
  ledger.maintain(Date.now());
  const folded = await readLedger(ledger).requestsOfOtherClients(0);
  expect(folded).toBe(33);
  const { value } = await scrape();
  expect(value('version_gateway_usage_folded_requests_total', {})).toBe(folded);
  expect(value('version_gateway_ledger_up', {})).toBe(1);
});

it('status and metrics show when a version was last served, also after a restart', async () => {
  const store = join(temporaryFolder(), 'usage.db');
  const last = Date.now() - hourMs;
  const before = Ledger.open({ store, retention: 400 * dayMs }, { clock: systemClock });
  before.add([served('v1', last), served('v3', last)]);
  before.close();
  const { status } = await start(store);
  // On a busy machine the first status does not wait for the ledger.
  await eventually(async () => {
    const { versions } = await status();
    expect(versions.map(({ version, last_served }) => [version, last_served])).toEqual([
      ['v1', new Date(last).toISOString()],
      ['v2', null],
      ['v3', null],
      ['v4', null],
    ]);
  });
});

interface Status {
  readonly versions: readonly {
    readonly targets: readonly { readonly last_error: string | null; readonly last_error_at: string | null }[];
  }[];
}

async function lastErrorOf(upstream: string, requests: number) {
  const { port, adminPort } = await startTestGateway({ '/v1': upstream });
  for (let count = 0; count < requests; count += 1) await ask(port, get('/v1/x'));
  const response = await fetch(`http://127.0.0.1:${adminPort}/api/status`);
  const { versions } = (await response.json()) as Status;
  return versions[0]?.targets[0];
}

/** Handles every connection that sends data with this function. */
async function startWith(treat: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => {}).once('data', () => treat(socket)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

it('a target without requests has no error', async () => {
  expect(await lastErrorOf(await refusedUrl(), 0)).toMatchObject({ last_error: null, last_error_at: null });
});

it.each([
  ['refuses connections', () => refusedUrl(), /ECONNREFUSED/],
  ['resets connections', () => startWith((socket) => socket.resetAndDestroy()), /ECONNRESET/],
  ['closes connections', () => startWith((socket) => socket.end()), /closed/],
  ['answers without HTTP', () => startWith((socket) => socket.end('nonsense\r\n\r\n')), /\w/],
])('the status shows when a target %s', async (_what, url, expected) => {
  const start = Date.now();
  const target = await lastErrorOf(await url(), 1);
  expect(target?.last_error).toMatch(expected);
  expect(Date.parse(target?.last_error_at ?? '')).toBeGreaterThanOrEqual(start);
});

it('the status shows the newest error of several processes', () => {
  const target = { url: 'a', inFlight: 0, connections: 0, reachable: true, health: 'healthy', ejectedUntil: undefined };
  const of = (...errors: (number | undefined)[]) =>
    mergeReports(
      errors.map((at) => {
        const lastError = at === undefined ? undefined : { message: `at ${at}`, at };
        const targets = [{ ...target, health: 'healthy' as const, lastError }];
        return { versions: [{ name: 'v1', inFlight: 0, waiting: 0, lastInFlight: undefined, targets }], workers: [] };
      }),
    ).versions[0]?.targets[0]?.lastError;
  expect(of(1, 3, undefined, 2)).toEqual({ message: 'at 3', at: 3 });
  expect(of(undefined, 1)).toEqual({ message: 'at 1', at: 1 });
  expect(of(undefined, undefined)).toBeUndefined();
});
