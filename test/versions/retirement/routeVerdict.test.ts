import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { startGateway } from '../../../gateway/process/runtime/gateway.ts';
import { Ledger } from '../../../gateway/usage/ledger/ledger.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';

const noon = Date.parse('2026-11-18T12:00:00Z');
const legacy = 'GET /v1/legacy-search';
const contract = `openapi: 3.1.0
info: { title: Drinks, version: 1.0.0 }
paths:
  /drinks/{id}: { get: { responses: {} } }
  /legacy-search: { get: { responses: {} } }
`;

/** A gateway with a ledger, a clock that the test sets, and a quiet period of a minute. */
async function start(v1: object = {}, usage: object = {}, time = noon) {
  const clock = { time, now: () => clock.time };
  const backend = createServer((req, res) => {
    if (req.url === '/stream') res.write('…');
    else if (req.headers['x-request'] === 'without an answer') return;
    else res.writeHead(req.headers['x-client-id'] === 'locked-out' ? 403 : 200).end();
  });
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    backend.closeAllConnections();
    backend.close();
  });
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'v1.yaml'), contract);
  const upstream = `http://127.0.0.1:${(backend.address() as AddressInfo).port}`;
  const ends = { 'GET /legacy-search': { deprecation: '2026-01-01', sunset: '2026-06-30' } };
  const settings = {
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0' },
    retire: { quiet: '60s', ignore_clients: ['probe'] },
    usage: { store: join(folder, 'usage.db'), ...usage },
    routes: { '/v1': { upstream, ends, ...v1 }, '/v2': upstream },
  };
  const snapshot = snapshotFrom(settings, folder);
  let next = snapshot;
  const ledger = Ledger.open(snapshot.usage, { clock });
  const gateway = await startGateway(snapshot, { ledger, clock, load: () => next });
  onTestFinished(async () => {
    await gateway.close();
    ledger.close();
  });
  const admin = `127.0.0.1:${gateway.adminPort}`;
  const run = async (...args: string[]) => runIn('/', [...args, '--admin', admin]);
  const origin = `http://127.0.0.1:${gateway.port}`;
  return {
    run,
    store: snapshot.usage.store,
    origin,
    useContract: async (text: string) => {
      writeFileSync(join(folder, 'v1.yaml'), text);
      const routes = { ...settings.routes, '/v1': { ...settings.routes['/v1'], contract: 'v1.yaml' } };
      next = snapshotFrom({ ...settings, routes }, folder);
      return gateway.reload('admin');
    },
    wait: (seconds: number) => {
      clock.time += seconds * 1000;
      ledger.add([]);
    },
    call: async (client: string, path: string, method = 'GET') =>
      (await fetch(origin + path, { method, headers: { 'x-client-id': client } })).status,
    /** Sends a request that gets no answer. @returns a function that ends it */
    open: (client: string, path: string): (() => Promise<void>) => {
      const controller = new AbortController();
      const headers = { 'x-client-id': client, 'x-request': 'without an answer' };
      const answer = fetch(origin + path, { headers, signal: controller.signal }).catch(() => {});
      return async () => {
        controller.abort();
        await answer;
      };
    },
    verdict: async (route = legacy) => {
      const { code, stdout, stderr } = await run('can-retire', route, '--format', 'json');
      const found = stdout === '' ? undefined : JSON.parse(stdout);
      return { code, stderr, ...found, codes: found?.reasons.map((one: { code: string }) => one.code) };
    },
  };
}

describe('the verdict about a route', () => {
  it('is no while a request of a client whose other requests failed is open', async () => {
    const { call, open, wait, verdict } = await start();
    wait(70);
    expect(await call('locked-out', '/v1/legacy-search')).toBe(403);
    expect((await verdict()).answer).toBe('yes');
    const end = open('locked-out', '/v1/legacy-search');
    await expect.poll(async () => (await verdict()).answer, { timeout: 10_000 }).toBe('no');
    await end();
    const later = async (): Promise<string> => {
      wait(70);
      return (await verdict()).answer;
    };
    await expect.poll(later, { timeout: 10_000 }).toBe('yes');
  });

  it('depends only on the calls of the route', async () => {
    const { call, wait, verdict, run } = await start();
    expect(await call('shop', '/v1/legacy-search')).toBe(200);
    wait(50);
    expect(await call('shop', '/v1/drinks/7')).toBe(200);
    const early = await verdict();
    expect([early.code, early.answer, early.codes]).toEqual([1, 'not yet', ['ledger_short', 'clients_left']]);
    wait(70);
    expect(await call('shop', '/v1/drinks/7')).toBe(200);
    const yes = await verdict();
    expect([yes.code, yes.answer, yes.codes, yes.route, yes.facts.client_count]).toEqual([
      0,
      'yes',
      ['nobody_left'],
      'GET /legacy-search',
      0,
    ]);
    expect(yes.reasons[0].text).toContain('No client called GET /v1/legacy-search in the last 1 min');
    expect(yes.facts).toMatchObject({ sunset: '2026-06-30T00:00:00.000Z', without_route: 0, in_flight: null });
    expect(yes.facts.gone).toMatchObject([{ client: 'x-client-id:shop', requests: 1 }]);
    expect(yes.notes.map((one: { code: string }) => one.code)).toContain('within_major');
    // One call among many: retire.max_share does not apply to a route.
    for (let n = 0; n < 30; n += 1) await call('other', '/v1/drinks/7');
    expect(await call('shop', '/v1/legacy-search', 'HEAD')).toBe(200);
    const no = await verdict();
    expect([no.code, no.answer, no.codes]).toEqual([1, 'no', ['clients_left']]);
    // Counts are per hour.
    expect(no.reasons[0].text).toContain('1 client made 2 requests to GET /v1/legacy-search in the last 1 min');
    const text = (await run('can-retire', legacy)).stdout;
    expect(text).toMatch(/^Gateway \S+ at \S+, without a file\.\n\nCan GET \/v1\/legacy-search end\? {2}no\n/);
    expect(text).not.toContain('in flight');
    expect((await run('can-retire', legacy, '--format', 'markdown')).stdout).toContain(
      '# Can GET /v1/legacy-search end? no\n',
    );
  });

  it('counts the calls of its path with a final slash, with and without a contract', async () => {
    const { call, wait, verdict, useContract } = await start();
    wait(70);
    expect(await call('shop', '/v1/legacy-search/')).toBe(200);
    expect((await verdict()).answer).toBe('no');
    expect((await verdict('GET /v1/legacy-search/')).answer).toBe('no');
    await useContract(contract);
    expect((await verdict()).answer).toBe('no');
    wait(70);
    expect((await verdict()).answer).toBe('yes');
    expect(await call('shop', '/v1/legacy-search/')).toBe(200);
    expect((await verdict()).answer).toBe('no');
  });

  it('leaves out ignored clients, and clients that only fail on the route', async () => {
    const { call, wait, verdict } = await start();
    wait(70);
    expect(await call('locked-out', '/v1/legacy-search')).toBe(403);
    expect(await call('probe', '/v1/legacy-search')).toBe(200);
    const { answer, codes, facts } = await verdict();
    expect([answer, codes]).toEqual(['yes', ['nobody_left']]);
    expect(facts.failing).toMatchObject([{ client: 'x-client-id:locked-out', failing: 1 }]);
    expect(facts.ignored).toMatchObject([{ client: 'x-client-id:probe', requests: 1 }]);
  });

  it('counts an open request', async () => {
    const { origin, wait, verdict } = await start({
      ends: { 'GET /stream': { deprecation: '2026-01-01', sunset: '2026-06-30' } },
    });
    const leaving = new AbortController();
    await fetch(`${origin}/v1/stream`, { headers: { 'x-client-id': 'reader' }, signal: leaving.signal });
    wait(120);
    expect((await verdict('GET /v1/stream')).answer).toBe('no');
    leaving.abort();
  });

  it('is not yet while calls may be counted without their route', async () => {
    const { call, wait, verdict, run } = await start({}, { max_routes: 1 });
    wait(70);
    expect(await call('shop', '/v1/drinks/7')).toBe(200);
    expect(await call('shop', '/v1/legacy-search')).toBe(200);
    const { code, answer, codes, reasons, facts } = await verdict();
    expect([code, answer, codes, facts.without_route]).toEqual([1, 'not yet', ['routes_folded'], 1]);
    expect(reasons[0].text).toContain('1 request to /v1 in the last 1 min may be calls of GET /v1/legacy-search');
    expect((await run('can-retire', legacy)).stdout).toMatch(/clients +at least 0/);
    wait(120);
    expect((await verdict()).answer).toBe('yes');
  });

  it('depends on calls that were counted with an earlier contract, or without a contract', async () => {
    const ends = { 'GET /drinks/{id}': { deprecation: '2026-01-01', sunset: '2026-06-30' } };
    const { call, wait, verdict, run, useContract } = await start({ ends });
    wait(70);
    expect(await call('shop', '/v1/drinks/margarita')).toBe(200);
    expect(await useContract(contract)).toMatchObject({ kind: 'reloaded' });
    const before = await verdict('GET /v1/drinks/{id}');
    expect([before.answer, before.facts.clients]).toMatchObject(['no', [{ client: 'x-client-id:shop' }]]);
    wait(120);
    expect((await verdict('GET /v1/drinks/{id}')).answer).toBe('yes');
    expect(await call('app', '/v1/drinks/7')).toBe(200);
    expect(await useContract(contract.replace('{id}', '{drinkId}'))).toMatchObject({ kind: 'reloaded' });
    const { answer, facts } = await verdict('GET /v1/drinks/{drinkId}');
    expect([answer, facts.clients]).toMatchObject(['no', [{ client: 'x-client-id:app' }]]);
    expect((await run('usage', 'GET /v1/drinks/{drinkId}')).stdout).toContain('x-client-id:app');
  });

  it.each([
    [
      'before its sunset',
      { 'GET /legacy-search': { deprecation: '2026-01-01', sunset: '2027-06-30' } },
      'sunset_ahead',
    ],
    ['without a sunset', { 'GET /legacy-search': '2026-01-01' }, 'no_sunset'],
  ])('is not yet %s', async (_name, ends, reason) => {
    const given = Object.fromEntries(
      Object.entries(ends).map(([key, one]) => [key, typeof one === 'string' ? { deprecation: one } : one]),
    );
    const { wait, verdict } = await start({ ends: given });
    wait(70);
    const { answer, codes } = await verdict();
    expect([answer, codes]).toEqual(['not yet', [reason]]);
  });
});

describe('there is no answer, and exit code 2,', () => {
  it.each([
    [
      'GET /v1/legacy-serch',
      'the contract of /v1 does not list it, and the ledger has no use of GET /v1/legacy-serch.  Did you mean GET /v1/legacy-search?',
    ],
    [
      'POST /v1/legacy-search',
      '/v1/legacy-search has no POST: its contract lists GET, and the ledger has no use of it.',
    ],
    ['GET /v9/legacy-search', 'No such version'],
    ['/v1/legacy-search', 'or a route such as "GET /v1/drinks/{id}"'],
    ['GET /legacy-search', 'or a route such as "GET /v1/drinks/{id}"'],
  ])('for %s', async (route, words) => {
    const { verdict, call } = await start({ contract: 'v1.yaml' });
    // A path that only failed is not a route.
    await call('locked-out', '/v1/legacy-serch');
    const { code, stderr } = await verdict(route);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
  });

  it('for a route of a retired version', async () => {
    const { verdict } = await start({ retired: true, sunset: '2026-06-30', deprecation: '2026-01-01', ends: {} });
    const { code, stderr } = await verdict();
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('/v1 is retired, so all its routes have ended. Ask about /v1.'),
    ]);
  });
});

it('reports the usage of a route by client, route and day, also from the file', async () => {
  // The command reads the file with the clock of the system, and reports the last 30 days.
  const { call, run, verdict, store } = await start({ contract: 'v1.yaml' }, {}, Date.now());
  await call('shop', '/v1/drinks/7');
  await call('shop', '/v1/legacy-search');
  await call('locked-out', '/v1/legacy-search');
  // Also writes the counts to the ledger.
  expect((await verdict()).facts.failing).toMatchObject([{ client: 'x-client-id:locked-out' }]);
  const json = async (...args: string[]) => JSON.parse((await run('usage', ...args, '--format', 'json')).stdout);
  const byClient = await json(legacy);
  expect(byClient).toMatchObject({
    by: 'client',
    version: 'v1',
    route: 'GET /legacy-search',
    without_route: 0,
    total: 2,
  });
  expect(byClient.rows).toMatchObject([
    { client: 'x-client-id:shop', requests: 1, failing: 0 },
    { client: 'x-client-id:locked-out', requests: 1, failing: 1 },
  ]);
  // A concrete path stands for its template.
  expect((await json('GET /v1/drinks/42', '--by', 'route')).rows).toMatchObject([
    { route: 'GET /drinks/{id}', requests: 1 },
  ]);
  expect((await json(legacy, '--by', 'day')).rows).toMatchObject([{ requests: 2 }]);
  const fromFile = async (route: string) => runIn('/', ['usage', route, '--store', store, '--format', 'json']);
  expect(JSON.parse((await fromFile('GET /v1/drinks/{id}')).stdout).rows).toMatchObject([{ requests: 1 }]);
  expect(await fromFile('GET /v1/drink/{id}')).toMatchObject({
    code: 2,
    stderr: 'No such route: the ledger has no use of GET /v1/drink/{id}.  Did you mean GET /v1/drinks/{id}?\n',
  });
  const text = (await run('usage', legacy)).stdout;
  expect(text).toMatch(/^Gateway .+\n\nusage of GET \/v1\/legacy-search in the last 30 days, since /);
  expect(text).not.toContain('routes');
  expect(await run('usage', legacy, '--by', 'migration')).toMatchObject({
    code: 2,
    stderr: 'A route needs a report by client, route or day.\n',
  });
});
