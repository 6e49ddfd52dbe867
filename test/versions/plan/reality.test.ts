import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { ThreadedLedger } from '../../../gateway/usage/ledger/threadedLedger.ts';
import type { UsageBy } from '../../../gateway/usage/report/usageReport.ts';
import type { Plan } from '../../../gateway/versions/plan/plan.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { eventually } from '../../support/eventually.ts';

type Call = readonly [client: string, method: string, path: string, times: number];

// Some fail at the backend, and some are refused before and after the edit.
const traffic: readonly Call[] = [
  ['kiosk', 'GET', '/v1/drinks', 5],
  ['kiosk', 'GET', '/v1/drinks/7', 2],
  ['kiosk', 'GET', '/v2/drinks', 3],
  ['billing', 'POST', '/v1/drinks', 4],
  ['billing', 'GET', '/v1/missing', 2],
  ['billing', 'GET', '/v3/drinks', 1],
  ['late', 'GET', '/v4/drinks', 6],
  ['late', 'HEAD', '/v5/drinks', 2],
  ['early', 'GET', '/v0/drinks', 3],
  ['early', 'GET', '/v2//evil.example/x', 1],
  ['scanner', 'GET', '/v9/drinks', 2],
  ['scanner', 'GET', '/v1/missing', 1],
  ['scanner', 'GET', '/wp-login', 1],
  ['modern', 'GET', '/v2/drinks', 7],
];

/** What the ledger counts of one client: requests that a backend answered, and requests refused because of their version. */
interface Counted {
  readonly requests: number;
  readonly served: number;
  readonly refused: number;
}

async function startBackend(): Promise<string> {
  const server = createServer((req, res) => {
    res.statusCode = req.url === '/missing' ? 404 : 200;
    res.end('{}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((done) => server.once('listening', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A gateway with a ledger. `edit`: the routes that a reload applies; `more`: its `gateway:`. */
async function startGateways(before: object, edit: object, more: object = {}) {
  const settings = { gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' } };
  const usage = { store: join(temporaryFolder(), 'usage.db') };
  const force = Object.fromEntries(Object.keys(before).map((name) => [name, 'a test']));
  const current = snapshotFrom({ ...settings, usage, routes: before });
  const next = snapshotFrom({ gateway: { ...settings.gateway, ...more }, usage, routes: edit, guard: { force } });
  const ledger = await ThreadedLedger.open(current.usage);
  const gateway = await startGateway(current, { ledger, load: () => next });
  onTestFinished(async () => {
    await gateway.close();
    await ledger.close();
  });
  const admin = `http://127.0.0.1:${gateway.adminPort}`;
  const plan = async (body: object): Promise<Plan> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${admin}/api/plan`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(response.status).toBe(200);
    return (await response.json()) as Plan;
  };
  return { gateway, admin, plan, url: `http://127.0.0.1:${gateway.port}` };
}

async function send(url: string): Promise<void> {
  for (const [client, method, path, times] of traffic) {
    for (let time = 0; time < times; time += 1) {
      const response = await fetch(url + path, { method, headers: { 'x-client-id': client } });
      await response.arrayBuffer();
    }
  }
}

/** The table of the ledger. A plan before it makes the gateway write its counts. */
async function counted(admin: string): Promise<Map<string, Counted>> {
  const response = await fetch(`${admin}/api/usage?by=client`);
  const { rows } = (await response.json()) as UsageBy<'client'>;
  const sums = new Map<string, Counted>();
  for (const { version, client, requests, served, refused } of rows) {
    if (version === '') continue;
    const sum = sums.get(client) ?? { requests: 0, served: 0, refused: 0 };
    sums.set(client, {
      requests: sum.requests + requests,
      served: sum.served + served,
      refused: sum.refused + refused,
    });
  }
  return sums;
}

it('predicts the table that the ledger counts when the edit is applied and the same requests arrive again', async () => {
  const upstream = await startBackend();
  const soon = { upstream, deprecation: '2020-01-01', sunset: '2020-06-01' };
  const before = {
    '/v0': { retired: true, upstream },
    '/v1': upstream,
    '/v2': upstream,
    '/v3': upstream,
    '/v4': soon,
    '/v5': upstream,
  };
  const edit = {
    '/v0': upstream,
    '/v1': { upstream, retired: true },
    '/v2': upstream,
    '/v4': { ...soon, after_sunset: 'gone' },
    '/v5': { upstream, deprecation: '2020-01-01', sunset: '2999-01-01', after_sunset: 'gone' },
  };
  const { gateway, admin, plan, url } = await startGateways(before, edit);
  await send(url);
  const planned = await plan({ since: '2h' });
  const first = await counted(admin);

  expect((await gateway.reload('admin')).kind).toBe('reloaded');
  await send(url);
  await plan({ since: '2h' });
  const both = await counted(admin);

  const predicted = planned.clients.map(
    ({ client, requests, answers: { served, retired, unknown_version: unknown } }) => {
      return [client, { requests, served, refused: retired + unknown }] as const;
    },
  );
  const second = [...both].map(([client, all]) => {
    const one = first.get(client) ?? { requests: 0, served: 0, refused: 0 };
    const { requests, served, refused } = all;
    return [client, { requests: requests - one.requests, served: served - one.served, refused: refused - one.refused }];
  });
  expect(Object.fromEntries(predicted)).toEqual(Object.fromEntries(second));
  expect(planned.clients.map(({ client, lost }) => [client, lost])).toEqual([
    ['x-client-id:kiosk', 7],
    ['x-client-id:billing', 7],
    ['x-client-id:late', 6],
    ['x-client-id:scanner', 1],
    ['x-client-id:modern', 0],
    ['x-client-id:early', 0],
  ]);
  const versions = planned.versions.map(({ version, stage, answer, lost }) => [version, stage, answer, lost]);
  expect(versions).toEqual([
    ['v0', 'active', 'served', 0],
    ['v1', 'retired', 'retired', 14],
    ['v2', 'active', 'served', 0],
    ['v3', 'removed', 'unknown_version', 1],
    ['v4', 'retired', 'retired', 6],
    ['v5', 'deprecated', 'served', 0],
    ['v9', 'removed', 'unknown_version', 0],
  ]);

  // What is refused already is not lost again, and the next date is planned with `at`.
  const after = await plan({ since: '2h' });
  expect([after.total.lost, after.summary]).toEqual([0, expect.stringMatching(/^No client would lose a request/)]);
  expect(after.notes.map(({ code }) => code).sort()).toEqual([
    'gone_later',
    'ledger_short',
    'refused_already',
    'refused_already',
    'refused_already',
  ]);
  const later = await plan({ since: '2h', at: '2999-01-01' });
  expect(later.clients.filter(({ lost }) => lost > 0).map(({ client, lost }) => [client, lost])).toEqual([
    ['x-client-id:late', 4],
  ]);
});

it('predicts that a new base_path refuses every request to the old one', async () => {
  const upstream = await startBackend();
  const { plan, url } = await startGateways({ '/v1': upstream }, { '/v1': upstream }, { base_path: '/api' });
  await (await fetch(`${url}/v1/drinks`, { headers: { 'x-client-id': 'kiosk' } })).arrayBuffer();
  const planned = await plan({});
  expect(planned.total).toMatchObject({
    requests: 1,
    lost: 1,
    answers: { served: 0, unknown_version: 1, waived: 0, frozen: 0, brownout: 0, not_adapted: 0 },
  });
  expect(planned.notes).toContainEqual({
    code: 'base_path',
    text: 'gateway.base_path changes from / to /api: requests to the old paths are answered 404.',
  });
});

it('counts a stream that was counted before its backend answered', async () => {
  const answers: (() => void)[] = [];
  const server = createServer((_req, res) => {
    answers.push(() => {
      res.write('…');
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((done) => server.once('listening', done));
  const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { plan, url } = await startGateways({ '/v1': upstream, '/v2': upstream }, { '/v2': upstream });
  const leaving = new AbortController();
  const stream = fetch(`${url}/v1/stream`, { headers: { 'x-client-id': 'reader' }, signal: leaving.signal });
  await eventually(() => expect(answers).toHaveLength(1));
  expect((await plan({ retire: 'v1' })).total).toMatchObject({ requests: 1, served: 0, lost: 0 });
  for (const answer of answers) answer();
  await stream;
  expect((await plan({ retire: 'v1' })).total).toMatchObject({ requests: 1, served: 1, lost: 1 });
  leaving.abort();
  await eventually(async () => expect((await plan({ retire: 'v1' })).total).toMatchObject({ requests: 1, served: 1 }));
});
