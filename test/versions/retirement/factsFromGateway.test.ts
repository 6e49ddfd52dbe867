import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { systemClock } from '../../../gateway/shared/clock.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { servedSnapshot } from '../../contracts/adapters/servedVersion.ts';
import { runIn } from '../../process/cli/io.ts';
import { eventually } from '../../support/eventually.ts';
import { parseMetrics } from '../../usage/observability/parseMetrics.ts';

const noon = Date.parse('2026-11-18T12:00:00Z');
const dates = { deprecation: '2026-01-01', sunset: '2026-06-30' };

/** A backend with a contract: it answers GET /drinks only, unless `status` is set. */
async function startBackend() {
  const backend = { status: 0 };
  const server = createServer((req, res) => {
    const known = req.url === '/drinks';
    res.statusCode = backend.status || (!known ? 404 : req.method === 'GET' ? 200 : 405);
    res.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  return Object.assign(backend, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close });
}

/** A gateway with a ledger, a clock that the test sets, and a quiet period of a minute. */
async function start(retire: object = {}, settings: object = {}) {
  const clock = { time: noon, now: () => clock.time };
  const backend = await startBackend();
  const store = join(temporaryFolder(), 'usage.db');
  const snapshotOf = (v1: object, guard = {}) =>
    snapshotFrom({
      gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
      guard: { quiet: '60s', ...guard },
      retire: { quiet: '60s', ...retire },
      usage: { store },
      routes: { '/v1': { upstream: backend.url, ...dates, ...settings, ...v1 }, '/v2': backend.url },
    });
  let next = snapshotOf({});
  const ledger = Ledger.open(next.usage, { clock });
  const gateway = await startGateway(next, { ledger, clock, load: () => next });
  onTestFinished(async () => {
    await gateway.close();
    ledger.close();
  });
  const admin = `127.0.0.1:${gateway.adminPort}`;
  return {
    backend,
    wait: (seconds: number) => {
      clock.time += seconds * 1000;
      ledger.add([]);
    },
    call: async (client: string, path: string, method = 'GET') =>
      (await fetch(`http://127.0.0.1:${gateway.port}${path}`, { method, headers: { 'x-client-id': client } })).status,
    run: async (...args: string[]) => (await runIn('/', [...args, '--admin', admin])).stdout,
    verdict: async () =>
      JSON.parse((await runIn('/', ['can-retire', '/v1', '--format', 'json', '--admin', admin])).stdout),
    edit: async (v1: object, guard = {}) => {
      next = snapshotOf(v1, guard);
      return gateway.reload('admin');
    },
    inUse: async () => {
      const metrics = parseMetrics(await (await fetch(`http://${admin}/metrics`)).text());
      return metrics.value('version_gateway_deprecated_version_in_use', { version: 'v1' });
    },
  };
}

describe('a client that only fails', () => {
  it('is listed, but does not prevent retirement', async () => {
    const { call, wait, run, verdict, edit, inUse } = await start();
    expect(await call('shop', '/v1/drinks')).toBe(200);
    wait(120);
    expect(await call('scanner', '/v1/wp-login')).toBe(404);
    expect(await call('scanner', '/v1/drinks', 'DELETE')).toBe(405);
    const { answer, reasons, facts } = await verdict();
    expect([answer, reasons[0].code, facts.client_count]).toEqual(['yes', 'nobody_left', 0]);
    expect(facts.failing).toMatchObject([{ client: 'x-client-id:scanner', requests: 2, failing: 2, last_used: null }]);
    expect(facts.failing_routes).toMatchObject([{ route: 'GET /wp-login' }, { route: 'DELETE /drinks' }]);
    expect(facts.routes_without_counterpart).toEqual([]);
    const text = await run('can-retire', '/v1');
    expect(text).toContain(
      'every request in the last 1 min was answered 4xx: x-client-id:scanner (last call just now, 2 failed requests)',
    );
    expect(await run('usage', '/v1', '--by', 'migration')).toMatch(/x-client-id:scanner +failing /);
    expect(await run('usage', '/v1', '--by', 'client')).toMatch(/x-client-id:scanner +2 +2 +2 /);
    expect(await inUse()).toBe(0);
    expect(await edit({ retired: true })).toMatchObject({ kind: 'reloaded' });
  });

  it('counts once it was served', async () => {
    const { call, wait, verdict, edit, inUse } = await start();
    wait(120);
    expect(await call('shop', '/v1/nothing')).toBe(404);
    expect(await call('shop', '/v1/drinks')).toBe(200);
    const { answer, facts } = await verdict();
    expect([answer, facts.clients[0].client, facts.failing]).toEqual(['no', 'x-client-id:shop', []]);
    expect(facts.requests).toBe(1);
    expect(await inUse()).toBe(1);
    expect(await edit({ retired: true })).toMatchObject({
      refusals: [{ message: expect.stringContaining('clients: x-client-id:shop (last call just now, 1 request)') }],
    });
  });
});

it('a longer guard.quiet counts in the edit that sets it', async () => {
  const { call, wait, edit } = await start();
  expect(await call('shop', '/v1/drinks')).toBe(200);
  wait(3 * 3600);
  expect(await edit({ retired: true }, { quiet: '24h' })).toMatchObject({
    refusals: [{ message: expect.stringMatching(/last called 3 h ago; clients: x-client-id:shop/) }],
  });
  expect(await edit({ retired: true }, { quiet: '1h' })).toMatchObject({ kind: 'reloaded' });
});

it('a client with a waiver does not use a version, for the verdict and for the metric', async () => {
  const waivers = [{ client: 'acme', until: '2026-11-18T12:10:00Z', reason: 'a contract' }];
  const { call, wait, verdict, inUse } = await start({}, { waivers });
  wait(120);
  expect(await call('acme', '/v1/drinks')).toBe(200);
  expect([(await verdict()).answer, await inUse()]).toEqual(['yes', 0]);
  wait(600);
  expect(await call('acme', '/v1/drinks')).toBe(200);
  expect((await verdict()).answer).toBe('no');
  // A scrape does not wait for the ledger, so only the next one has the result.
  await eventually(async () => expect(await inUse()).toBe(1));
});

it('a contract that is added together with an outage does not allow retirement', async () => {
  const { backend, call, wait, verdict, edit } = await start();
  const contract = join(temporaryFolder(), 'v1.yaml');
  writeFileSync(
    contract,
    'openapi: 3.1.0\ninfo: { title: Drinks, version: 1.0.0 }\npaths: { "/drinks/{name}": { get: { responses: {} } } }\n',
  );
  backend.status = 200;
  expect(await call('shop', '/v1/drinks/margarita')).toBe(200);
  expect(await edit({ contract })).toMatchObject({ kind: 'reloaded' });
  backend.status = 401;
  wait(120);
  expect(await call('shop', '/v1/drinks/margarita')).toBe(401);
  const { answer, reasons } = await verdict();
  expect([answer, reasons[0].code]).toEqual(['not yet', 'all_fail']);
});

it('the verdict names the versions that an adapter serves from the backend', async () => {
  const source = { deprecation: '2026-01-01', sunset: '2026-02-01', after_sunset: 'gone' };
  const snapshot = servedSnapshot((await startBackend()).url, { source });
  const ledger = Ledger.open({ ...snapshot.usage, store: join(temporaryFolder(), 'usage.db') }, { clock: systemClock });
  const gateway = await startGateway(snapshot, { ledger });
  onTestFinished(async () => {
    await gateway.close();
    ledger.close();
  });
  const { stdout } = await runIn('/', ['can-retire', '/v2', '--admin', `127.0.0.1:${gateway.adminPort}`]);
  expect(stdout).toContain('Keep the backend of /v2 running: an adapter serves /v1 from it.');
});

describe('an outage of the backend does not allow retirement', () => {
  it.each([
    ['a backend that is gone', (backend: { close(): void }) => backend.close(), 502],
    ['a backend that answers 500', (backend: { status: number }) => Object.assign(backend, { status: 500 }), 500],
  ])('%s', async (_what, fail, status) => {
    const { backend, call, wait, verdict, edit } = await start();
    expect(await call('shop', '/v1/drinks')).toBe(200);
    fail(backend);
    wait(120);
    expect(await call('shop', '/v1/drinks')).toBe(status);
    const { answer, facts } = await verdict();
    expect([answer, facts.clients[0].client, facts.failing]).toEqual(['no', 'x-client-id:shop', []]);
    expect(await edit({ retired: true })).toMatchObject({ kind: 'refused' });
  });

  it.each([404, 401])('of a proxy that answers %d instead', async (status) => {
    const { backend, call, wait, verdict } = await start();
    expect(await call('shop', '/v1/drinks')).toBe(200);
    backend.status = status;
    wait(120);
    expect(await call('shop', '/v1/drinks')).toBe(status);
    expect(await call('scanner', '/v1/wp-login')).toBe(status);
    const { answer, reasons, facts } = await verdict();
    expect([answer, reasons[0].code, facts.failing_count]).toEqual(['not yet', 'all_fail', 2]);
    expect(reasons[0].text).toContain('x-client-id:shop (last call just now, last served 2 min ago)');
    expect(reasons[0].text).not.toContain('scanner');
    backend.status = 0;
    expect(await call('shop', '/v1/drinks')).toBe(200);
    expect((await verdict()).answer).toBe('no');
  });

  it('unless the failing route never worked, or its client is ignored', async () => {
    const { backend, call, wait, verdict } = await start({ ignore_clients: ['probe'] });
    for (const client of ['probe', 'web']) expect(await call(client, '/v1/drinks')).toBe(200);
    wait(120);
    expect(await call('web', '/v1/other')).toBe(404);
    expect((await verdict()).answer).toBe('yes');
    backend.status = 404;
    expect(await call('probe', '/v1/drinks')).toBe(404);
    wait(120);
    expect(await call('probe', '/v1/drinks')).toBe(404);
    expect((await verdict()).answer).toBe('yes');
  });
});

it('lists the clients that a retired version refused, but not those served before', async () => {
  const { call, run, verdict, edit } = await start();
  for (let n = 0; n < 12; n += 1) expect(await call('big', '/v1/drinks')).toBe(200);
  expect(await edit({ retired: true }, { force: { '/v1': 'a test' } })).toMatchObject({ kind: 'reloaded' });
  for (let n = 0; n < 3; n += 1) expect(await call('straggler', '/v1/drinks')).toBe(410);
  expect(await call('other', '/v1/drinks')).toBe(410);
  const { answer, facts } = await verdict();
  expect([answer, facts.refused]).toEqual(['no', 4]);
  expect(facts.refused_clients).toMatchObject([
    { client: 'x-client-id:straggler', refused: 3, last: expect.any(String) },
    { client: 'x-client-id:other', refused: 1 },
  ]);
  const text = await run('can-retire', '/v1');
  expect(text).toContain(
    '/v1 is retired, and 3 clients called it in the last 1 min: x-client-id:straggler (last call just now, 3 refused), x-client-id:other (last call just now, 1 refused), x-client-id:big (last call just now, served before the retirement).',
  );
  expect(text).toMatch(
    / {2}client +refused +last call\n {2}x-client-id:straggler +3 +just now\n {2}x-client-id:other +1 +just now\n/,
  );
  expect(text).not.toMatch(/\n {2}x-client-id:big/);
});
