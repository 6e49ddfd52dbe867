import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ClientIdentification, saltFrom } from '../../../gateway/usage/counting/identification.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { ask, startFleetGateway } from '../../operate/fleet/fleetGateway.ts';
import { startWorkers } from '../../process/runtime/startWorkers.ts';
import { eventually } from '../../support/eventually.ts';
import { startPostgres } from '../../support/postgres.ts';
import { connectTo, get } from '../../support/rawClient.ts';
import { startRestricted } from '../restrictions/restrictedGateway.ts';

const noon = '2026-11-18T12:00:00Z';
const [good, refused, forged] = ['k-accepted', 'k-only-401', 'k-nobody-has'];

/** A backend that accepts one key. */
async function startBackend(): Promise<string> {
  const server = createServer((req, res) => {
    const key = req.headers['x-api-key'] ?? req.headers['x-client-id'] ?? req.headers.authorization;
    res.writeHead(key === refused && req.url !== '/health' ? 401 : 200).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const routesTo = (upstream: string) => ({
  '/v1': { upstream, deprecation: '2026-01-01', sunset: '2027-06-30', info: 'https://example.com/v1' },
  '/v2': { upstream, ends: { 'GET /legacy-search': { deprecation: '2026-05-01' } } },
  '/v3': upstream,
});

/** A gateway that has served a client, and refused another one. */
async function start(gateway: object = {}, usage: object = {}, others: object = {}) {
  const settings = { self_service: 'on', ...gateway };
  const file = { gateway: settings, usage, routes: routesTo(await startBackend()), ...others };
  const running = await startRestricted(file, noon);
  const origin = `http://127.0.0.1:${running.port}`;
  const call = async (path: string, headers: Record<string, string>) =>
    (await fetch(origin + path, { headers })).status;
  for (const path of ['/v1/drinks/7', '/v1/drinks/8', '/v2/drinks/7', '/v2/legacy-search'])
    expect(await call(path, { 'x-api-key': good })).toBe(200);
  expect(await call('/v1/drinks/7', { 'x-api-key': refused })).toBe(401);
  // A verdict passes all counts to the ledger.
  await fetch(`http://127.0.0.1:${running.adminPort}/api/versions/v1/retirement`);
  const me = (headers: Record<string, string>, method = 'GET') => fetch(`${origin}/versions/me`, { headers, method });
  return { ...running, origin, call, me };
}

describe('GET /versions/me', () => {
  it('is logged with the size of its body', async () => {
    const log = join(temporaryFolder(), 'access.log');
    const { me, close } = await start({}, {}, { log: { access: log } });
    const body = await (await me({ 'x-api-key': good })).text();
    await close();
    const lines = (await readFile(log, 'utf8')).trimEnd().split('\n');
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ path: '/versions/me', status: 200, bytes_out: body.length });
  });

  it('shows a client with an accepted key what it still calls that will end', async () => {
    const { me } = await start({ public_url: 'https://api.example.com' });
    const response = await me({ 'x-api-key': good });
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(response.headers.get('vary')).toBe('x-client-id, x-api-key, user-agent');
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({
      since: '2026-10-19T12:00:00Z',
      until: '2026-11-18T12:00:00Z',
      // The ledger covers ten days.
      counted_since: '2026-11-08T12:00:00Z',
      versions: [
        {
          version: 'v1',
          stage: 'deprecated',
          deprecation: '2026-01-01T00:00:00Z',
          sunset: '2027-06-30T00:00:00Z',
          successor: { name: 'v2', url: 'https://api.example.com/v2' },
          info: 'https://example.com/v1',
          requests: 2,
          last: '2026-11-18T12:00:00Z',
          routes: [{ route: 'GET /drinks/{}', requests: 2, last: '2026-11-18T12:00:00Z' }],
        },
        {
          version: 'v2',
          stage: 'active',
          successor: { name: 'v3', url: 'https://api.example.com/v3' },
          requests: 1,
          last: '2026-11-18T12:00:00Z',
          routes: [
            {
              route: 'GET /legacy-search',
              requests: 1,
              last: '2026-11-18T12:00:00Z',
              deprecation: '2026-05-01T00:00:00Z',
            },
          ],
        },
      ],
    });
    const head = await me({ 'x-api-key': good }, 'HEAD');
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('shows a client with a waiver until when a retired version still serves it, as its responses do', async () => {
    const waived = new ClientIdentification([{ by: 'header', name: 'x-api-key' }], saltFrom('a key of this test'));
    const upstream = await startBackend();
    const waivers = [{ client: waived.clientOf(['X-Api-Key', good], ''), until: '2027-09-01', reason: 'a contract' }];
    const ends = { 'GET /old': { deprecation: '2026-01-01', sunset: '2026-03-01' } };
    const v1 = { upstream, deprecation: '2026-01-01', sunset: '2026-06-01', after_sunset: 'gone', waivers, ends };
    const file = { gateway: { self_service: 'on' }, usage: { tag_key: 'a key of this test' } };
    const { port, adminPort } = await startRestricted({ ...file, routes: { '/v1': v1, '/v2': upstream } }, noon);
    const headers = { 'x-api-key': good };
    const { status, headers: answered } = await fetch(`http://127.0.0.1:${port}/v1/old`, { headers });
    expect([status, answered.get('sunset')]).toEqual([200, 'Wed, 01 Sep 2027 00:00:00 GMT']);
    await fetch(`http://127.0.0.1:${adminPort}/api/versions/v1/retirement`);
    const me = await fetch(`http://127.0.0.1:${port}/versions/me`, { headers });
    const sunset = '2027-09-01T00:00:00Z';
    expect(await me.json()).toMatchObject({ versions: [{ stage: 'sunset', sunset, routes: [{ sunset }] }] });
  });

  it.each(['auto', 'off'])(
    'answers an unknown and a refused key with the same bytes, fast_lane: %s',
    async (fast_lane) => {
      const { port } = await start({ fast_lane });
      const answers: string[] = [];
      for (const key of [refused, forged]) {
        const client = await connectTo(port);
        client.send(get('/versions/me', `X-Api-Key: ${key}`, 'X-Request-Id: the-same', 'Connection: close'));
        answers.push((await client.closed()).leftover.replace(/\r\nDate: [^\r]*/i, ''));
      }
      expect(answers[0]).toMatch(/^HTTP\/1\.1 403 /);
      expect(answers[0]).toContain('CLIENT_NOT_ACCEPTED');
      expect(answers[1]).toBe(answers[0]);
    },
  );

  it.each<[string, Record<string, string>, object]>([
    ['no key', {}, {}],
    ['a plain id', { 'x-client-id': 'shop' }, {}],
    ['a plain id before the key', { 'x-client-id': 'shop', 'x-api-key': good }, {}],
    ['a header with an unfamiliar name', { 'x-partition': 'shop' }, { identify: ['header:x-partition'] }],
    ['a user that a proxy adds', { 'x-auth-user': 'bob' }, { identify: ['header:x-auth-user'] }],
    ['the id of a key', { 'x-key-id': 'AKIA7' }, { identify: ['header:x-key-id'] }],
    ['an address', {}, { identify: ['address'] }],
    // Anyone can write a claim: the signature is not verified.
    [
      'a claim of a JWT',
      { authorization: `Bearer e30.${Buffer.from('{"sub":"shop"}').toString('base64url')}.c2ln` },
      { identify: ['jwt:sub'] },
    ],
  ])('does not answer %s that a backend has accepted', async (_what, headers, usage) => {
    const { call, me, adminPort } = await start({}, usage);
    expect(await call('/v1/drinks/7', headers)).toBe(200);
    await fetch(`http://127.0.0.1:${adminPort}/api/versions/v1/retirement`);
    const response = await me(headers);
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([403, 'CLIENT_NOT_ACCEPTED']);
  });

  it.each(['auto', 'off'])(
    'does not accept a key that was sent beside another one, fast_lane: %s',
    async (fast_lane) => {
      const { port, adminPort, me } = await start({ fast_lane });
      const send = async (path: string, ...keys: string[]) => {
        const client = await connectTo(port);
        client.send(get(path, ...keys.map((key) => `X-Api-Key: ${key}`), 'Connection: close'));
        return (await client.closed()).leftover;
      };
      // The backend reads both values as one, and does not refuse it.
      expect(await send('/v1/drinks/7', refused, good)).toMatch(/^HTTP\/1\.1 200 /);
      await fetch(`http://127.0.0.1:${adminPort}/api/versions/v1/retirement`);
      expect((await me({ 'x-api-key': refused })).status).toBe(403);
      expect(await send('/versions/me', good, refused)).toMatch(/^HTTP\/1\.1 403 /);
      expect((await me({ 'x-api-key': good })).status).toBe(200);
    },
  );

  it('leaves out a route on which all calls failed', async () => {
    const { call, me, adminPort } = await start();
    expect(await call('/v2/drinks/7', { 'x-api-key': refused })).toBe(401);
    expect(await call('/v1/health', { 'x-api-key': refused })).toBe(200);
    await fetch(`http://127.0.0.1:${adminPort}/api/versions/v1/retirement`);
    const { versions } = (await (await me({ 'x-api-key': refused })).json()) as { versions: { routes: object[] }[] };
    expect(versions).toMatchObject([{ version: 'v1', requests: 1, routes: [{ route: 'GET /health', requests: 1 }] }]);
  });

  it('is off by default, and listed in the index when it is on', async () => {
    const on = await start();
    expect(await (await fetch(on.origin)).json()).toMatchObject({ me: '/versions/me' });
    expect(await (await fetch(on.origin, { headers: { accept: 'text/html' } })).text()).toContain('/versions/me');
    const off = await start({ self_service: 'off' });
    const response = await off.me({ 'x-api-key': good });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([404, 'UNKNOWN_VERSION']);
    expect(await (await fetch(off.origin)).json()).not.toHaveProperty('me');
  });

  it('allows GET and HEAD only', async () => {
    const { me } = await start();
    const response = await me({ 'x-api-key': good }, 'DELETE');
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('limits the requests of a network, and answers the others', async () => {
    const { me, call } = await start({ trusted_proxies: ['loopback'] });
    const from = async (address: string, key: string) => {
      const response = await me({ 'x-api-key': key, 'x-forwarded-for': address });
      await response.text();
      return [response.status, response.headers.get('retry-after')];
    };
    for (let n = 0; n < 10; n += 1) expect(await from('192.0.2.7', `forged-${n}`)).toEqual([403, null]);
    // The right key, too.
    expect(await from('192.0.2.8', good)).toEqual([429, '60']);
    expect(await from('198.51.100.7', good)).toEqual([200, null]);
    expect(await call('/v1/drinks/7', { 'x-api-key': good })).toBe(200);
  });

  it('does not count forged keys as clients', async () => {
    const { me, adminPort } = await start();
    for (let n = 0; n < 10; n += 1) await me({ 'x-api-key': `forged-${n}` });
    await fetch(`http://127.0.0.1:${adminPort}/api/versions/v1/retirement`);
    const usage = (await (await fetch(`http://127.0.0.1:${adminPort}/api/usage?by=client`)).json()) as {
      rows: { version: string }[];
    };
    const unversioned = usage.rows.filter(({ version }) => version === '');
    expect(unversioned).toMatchObject([{ client: 'unknown', requests: 10 }]);
  });

  it('answers over HTTP/2', async () => {
    const { origin } = await start({ h2c: 'on' });
    const session = connectHttp2(origin);
    onTestFinished(() => session.destroy());
    const stream = session.request({ ':path': '/versions/me', 'x-api-key': good });
    const [fields] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect([fields[':status'], JSON.parse(await text(stream)).versions.length]).toEqual([200, 2]);
  });

  it('answers in every worker', async () => {
    const gateway = await startWorkers(2, routesTo(await startBackend()), { gateway: { self_service: 'on' } });
    const origin = `http://127.0.0.1:${gateway.port}`;
    await fetch(`${origin}/v1/drinks/7`, { headers: { 'x-api-key': good } });
    await fetch(`${gateway.admin}/api/versions/v1/retirement`);
    // Each request may reach another worker.
    const statuses = await Promise.all(
      [good, good, good, good, forged, forged].map(async (key) => {
        const headers = { 'x-api-key': key, connection: 'close' };
        return (await fetch(`${origin}/versions/me`, { headers })).status;
      }),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 403, 403]);
  });

  it('answers from the store of a fleet', async () => {
    const server = await startPostgres();
    onTestFinished(() => server.stop());
    const store = await server.database();
    const routes = routesTo(await startBackend());
    const gateway = {
      listen: '127.0.0.1:0',
      admin: '127.0.0.1:0',
      drain: '1s',
      self_service: 'on',
      trusted_proxies: ['loopback'],
    };
    const one = await startFleetGateway({ store, name: 'gw-1', routes, settings: { gateway } });
    const two = await startFleetGateway({ store, name: 'gw-2', routes, settings: { gateway } });
    const headers = { 'x-api-key': good };
    let network = 0;
    await eventually(async () => {
      // A gateway on a busy machine may start without the salt of the fleet, and make other tags until it has it.
      await fetch(`http://127.0.0.1:${one.port}/v1/drinks/7`, { headers });
      await ask(one, 'can-retire', '/v1');
      expect((await ask(two, 'usage', '/v1')).stdout).toContain('x-api-key:#');
      // From another network each time, because of the limit.
      network += 1;
      const from = { ...headers, 'x-forwarded-for': `10.0.${network}.1` };
      const response = await fetch(`http://127.0.0.1:${two.port}/versions/me`, { headers: from });
      const body = await response.json();
      expect([response.status, body]).toEqual([
        200,
        expect.objectContaining({ versions: [expect.objectContaining({ version: 'v1' })] }),
      ]);
    });
  });
});
