import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createVersionGateway } from '../../../gateway/index.ts';
import { ClientIdentification, saltFrom } from '../../../gateway/usage/counting/identification.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { runIn } from '../../process/cli/io.ts';
import { load, startWorkers } from '../../process/runtime/startWorkers.ts';
import { okAnswer, startBackend } from '../../support/backend.ts';
import { echoBackend, host } from '../../support/embeddedServer.ts';
import { eventually } from '../../support/eventually.ts';
import { askHttp2, connectHttp2 } from '../../support/http2Client.ts';
import { expectProblem, expectProblemHead } from '../../support/problem.ts';
import { ask, connectTo, get, message } from '../../support/rawClient.ts';
import { readLedger } from '../../support/readLedger.ts';
import { singleValueOf, valuesOf } from '../../support/response.ts';
import { startRestricted } from './restrictedGateway.ts';

const dates = { deprecation: '2027-01-01', sunset: '2027-06-01' };
const waivers = [{ client: 'acme', until: '2027-09-01', reason: 'contract 4711' }];
const acme = get('/v1/x', 'X-Client-Id: acme');
const other = get('/v1/x', 'X-Client-Id: other');
const tagKey = 'a key of this test';

/** The name in the ledger of the client with this API key. */
function tagOf(key: string): string {
  const identification = new ClientIdentification([{ by: 'header', name: 'x-api-key' }], saltFrom(tagKey));
  return identification.clientOf(['X-Api-Key', key], '');
}

const key = (value: string): string => get('/v1/x', `X-Api-Key: ${value}`);

async function start(v1: object = {}, more: object = {}, time = '2027-07-01T00:00:00Z') {
  const [backend, successor] = [await startBackend(okAnswer), await startBackend(okAnswer)];
  const version = { upstream: backend.url, ...dates, retired: true, waivers, ...v1 };
  const file = { routes: { '/v1': version, '/v2': successor.url }, ...more };
  return { backend, file, gateway: await startRestricted(file, time) };
}

async function statusesOf(port: number, ...requests: readonly string[]): Promise<number[]> {
  return Promise.all(requests.map(async (bytes) => (await ask(port, bytes)).status));
}

describe('a retired version with waivers', () => {
  it('serves the named client with the end of its waiver, and answers all others 410', async () => {
    const { gateway } = await start();
    const served = await ask(gateway.port, acme);
    expect(served.status).toBe(200);
    expect(singleValueOf(served, 'sunset')).toBe('Wed, 01 Sep 2027 00:00:00 GMT');
    expect(singleValueOf(served, 'deprecation')).toBe('@1798761600');
    expect(singleValueOf(served, 'vary')).toBe('x-client-id, x-api-key, user-agent');
    for (const bytes of [other, get('/v1/x')]) {
      const refused = await ask(gateway.port, bytes);
      expectProblem(refused, 410);
      expect(singleValueOf(refused, 'cache-control')).toBe('no-store');
      expect(singleValueOf(refused, 'sunset')).toBe('Tue, 01 Jun 2027 00:00:00 GMT');
    }
    const head = await ask(gateway.port, message('HEAD /v1/x HTTP/1.1', 'Host: api.test'), 'HEAD');
    expectProblemHead(head, 410);
  });

  it('ends a waiver by the clock, to the millisecond', async () => {
    const { gateway } = await start();
    gateway.at('2027-08-31T23:59:59.999Z');
    expect((await ask(gateway.port, acme)).status).toBe(200);
    gateway.at('2027-09-01T00:00:00Z');
    const refused = await ask(gateway.port, acme);
    expectProblem(refused, 410);
    expect(singleValueOf(refused, 'cache-control')).toBe('max-age=60');
  });

  it('also applies from a sunset with after_sunset: gone', async () => {
    const { gateway } = await start({ retired: false, after_sunset: 'gone' }, {}, '2027-05-31T23:59:59Z');
    const before = await ask(gateway.port, acme);
    expect([before.status, singleValueOf(before, 'sunset')]).toEqual([200, 'Tue, 01 Jun 2027 00:00:00 GMT']);
    expect(await statusesOf(gateway.port, other)).toEqual([200]);
    gateway.at('2027-06-01T00:00:00Z');
    expect(await statusesOf(gateway.port, acme, other)).toEqual([200, 410]);
  });

  it('answers a preflight 204, which carries no identification', async () => {
    const { gateway, backend } = await start();
    const fields = ['Host: api.test', 'Origin: https://app.test', 'Access-Control-Request-Method: GET'];
    const preflight = await ask(gateway.port, message('OPTIONS /v1/x HTTP/1.1', ...fields));
    expect(preflight.status).toBe(204);
    expect(backend.bytes).toBe('');
  });

  it('opens upgrades for the named client only', async () => {
    const upgrade = ['Connection: Upgrade', 'Upgrade: test'];
    const backend = await startBackend([{ write: message('HTTP/1.1 101 Switching Protocols', ...upgrade) }]);
    const { gateway } = await start({ upstream: backend.url });
    const client = await connectTo(gateway.port);
    client.send(get('/v1/x', ...upgrade, 'X-Client-Id: acme'));
    expect(await client.bytes(12)).toBe('HTTP/1.1 101');
    expectProblem(await ask(gateway.port, get('/v1/x', ...upgrade)), 410);
  });

  it('applies over HTTP/2', async () => {
    const { gateway } = await start({}, { gateway: { h2c: 'on' } });
    const session = await connectHttp2(`http://127.0.0.1:${gateway.port}`);
    const status = async (fields: Record<string, string>) =>
      (await askHttp2(session, '/v1/x', fields)).headers[':status'];
    expect([await status({ 'x-client-id': 'acme' }), await status({})]).toEqual([200, 410]);
  });

  it('applies with the parser of Node.js', async () => {
    const { gateway } = await start({}, { gateway: { fast_lane: 'off' } });
    expect(await statusesOf(gateway.port, acme, other)).toEqual([200, 410]);
  });

  it('finds clients by a tag, also after a reload, a restart, and with a new ledger', async () => {
    const names = { store: 'usage.db', tag_key: tagKey };
    const tagged = { waivers: [{ client: tagOf('secret'), until: '2027-09-01', reason: 'contract 4711' }] };
    const { gateway, file } = await start(tagged, { usage: names });
    expect(await statusesOf(gateway.port, key('secret'), key('other'))).toEqual([200, 410]);
    await gateway.edit({ ...file, retire: { quiet: '3d' } });
    expect(await statusesOf(gateway.port, key('secret'), key('other'))).toEqual([200, 410]);
    await gateway.close();
    // A folder without a ledger.
    const again = await startRestricted(file, '2027-07-02T00:00:00Z', temporaryFolder());
    expect(await statusesOf(again.port, key('secret'), key('other'))).toEqual([200, 410]);
  });

  it('finds clients by their names in usage.names', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'names.yaml'), `"${tagOf('secret')}": "Ann's shop"\n`);
    const backend = await startBackend(okAnswer);
    const v1 = { upstream: backend.url, retired: true, waivers: [{ ...waivers[0], client: "Ann's shop" }] };
    const file = { routes: { '/v1': v1, '/v2': backend.url }, usage: { tag_key: tagKey, names: 'names.yaml' } };
    const gateway = await startRestricted(file, '2027-07-01T00:00:00Z', folder);
    expect(await statusesOf(gateway.port, key('secret'), key('other'))).toEqual([200, 410]);
  });

  it('does not cut requests of a named client that are in flight when the version is retired, until the waiver ends', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const backend = await startBackend([{ wait: released }, { write: okAnswer }]);
    const version = { upstream: backend.url, ...dates, waivers };
    const routes = (v1: object) => ({ routes: { '/v1': v1, '/v2': backend.url }, gateway: { drain: '100ms' } });
    const gateway = await startRestricted(routes(version), '2027-07-01T00:00:00Z');
    const [waived, refused] = [await connectTo(gateway.port), await connectTo(gateway.port)];
    waived.send(acme);
    refused.send(other);
    await eventually(() => expect(backend.requests).toHaveLength(2));
    expect(await gateway.edit(routes({ ...version, retired: true }))).toMatchObject({ kind: 'reloaded' });
    expectProblem(await refused.response(), 503);
    release();
    expect((await waived.response()).status).toBe(200);
  });

  it('cuts a request that is in flight when the waiver ends', async () => {
    const backend = await startBackend([{ wait: new Promise(() => {}) }]);
    const { gateway } = await start({ upstream: backend.url }, { gateway: { drain: '100ms' } });
    const client = await connectTo(gateway.port);
    client.send(acme);
    await eventually(() => expect(backend.requests).toHaveLength(1));
    gateway.at('2027-09-01T00:00:00Z');
    expectProblem(await client.response(), 503);
  });

  it('counts refused requests as refused, served ones as served, and both by client', async () => {
    const { gateway } = await start();
    await statusesOf(gateway.port, acme, acme, other);
    const admin = `http://127.0.0.1:${gateway.adminPort}`;
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    await gateway.close();
    expect(await readLedger(gateway.ledger).byClient('v1', 0)).toMatchObject([
      { client: 'x-client-id:acme', requests: 2, served: 2, refused: 0 },
      { client: 'x-client-id:other', requests: 1, served: 0, refused: 1 },
    ]);
    expect(metrics).toContain('version_gateway_restricted_total{version="v1",kind="waiver"} 2');
  });
});

describe('responses that depend on the client', () => {
  const withFields = (...fields: string[]) => `${message('HTTP/1.1 200 OK', 'Content-Length: 2', ...fields)}ok`;

  it.each([
    ['no Vary', [], 'x-client-id, x-api-key, user-agent'],
    ['a Vary', ['Vary: Accept-Encoding'], 'Accept-Encoding, x-client-id, x-api-key, user-agent'],
    ['two lines', ['Vary: Accept', 'Vary: X-Api-Key'], 'Accept, X-Api-Key, x-client-id, user-agent'],
    ['a star', ['Vary: *'], '*'],
  ])('extend the Vary of a backend that sends %s', async (_name, fields, vary) => {
    const backend = await startBackend(withFields(...fields));
    const { gateway } = await start({ upstream: backend.url });
    for (let count = 0; count < 2; count += 1) expect(valuesOf(await ask(gateway.port, acme), 'vary')).toEqual([vary]);
  });

  it('are private if an address may identify the client, and keep the limits that the backend sets for caches', async () => {
    const usage = { identify: ['header:x-client-id', 'address'] };
    for (const [field, expected] of [
      ['X-Nothing: 1', 'private'],
      ['Cache-Control: public, max-age=60, s-maxage=600', 'private, max-age=60'],
      ['Cache-Control: private, S-MaxAge=600, max-age=60', 'private, max-age=60'],
      ['Cache-Control: no-store', 'no-store'],
    ] as const) {
      const ofCdns = ['CDN-Cache-Control: max-age=600', 'Surrogate-Control: max-age=600', 'X-Accel-Expires: 600'];
      const backend = await startBackend(withFields(field, ...ofCdns));
      const { gateway } = await start({ upstream: backend.url }, { usage });
      const response = await ask(gateway.port, acme);
      expect(valuesOf(response, 'cache-control')).toEqual([expected]);
      for (const name of ['cdn-cache-control', 'surrogate-control', 'x-accel-expires'])
        expect(valuesOf(response, name)).toEqual([]);
    }
  });

  it('carry Vary before the version is retired, and not on a version without waivers', async () => {
    const { gateway } = await start({ retired: false }, {}, '2027-02-01T00:00:00Z');
    expect(valuesOf(await ask(gateway.port, other), 'vary')).toHaveLength(1);
    expect(valuesOf(await ask(gateway.port, get('/v2/x')), 'vary')).toEqual([]);
  });
});

it('a waiver applies in both of two workers, after a reload and a rolling restart', async () => {
  const backend = await startBackend(okAnswer);
  const v1 = {
    upstream: backend.url,
    retired: true,
    waivers: [{ client: tagOf('secret'), until: '2127-09-01', reason: 'a test' }],
  };
  const routes = { '/v1': v1, '/v2': backend.url };
  const gateway = await startWorkers(2, routes, { log: { access: 'off' }, usage: { tag_key: tagKey } });
  const requests = Array.from({ length: 10 }, (_, index) => key(index % 2 === 0 ? 'secret' : `other-${index}`));
  const expected = requests.map((_, index) => (index % 2 === 0 ? 200 : 410));
  expect(await statusesOf(gateway.port, ...requests)).toEqual(expected);
  const { seen, stop } = load(gateway.port, 2, '/v1/x');
  gateway.edit({ ...routes, '/v2': { upstream: backend.url, info: 'https://example.com/' } });
  await gateway.printed(/(reloaded)/);
  expect(await statusesOf(gateway.port, ...requests)).toEqual(expected);
  gateway.child.kill('SIGUSR2');
  await gateway.printed(/(rolling restart done)/);
  expect(await statusesOf(gateway.port, ...requests)).toEqual(expected);
  await stop();
  expect([...seen.keys()]).toEqual(['410']);
});

it('reads the names of clients again after an edit of their file', async () => {
  const backend = await startBackend(okAnswer);
  const names = join(temporaryFolder(), 'names.yaml');
  writeFileSync(names, '');
  const shop = { client: "Ann's shop", until: '2127-09-01', reason: 'a test' };
  const v1 = { upstream: backend.url, retired: true, waivers: [shop] };
  const usage = { tag_key: tagKey, names };
  const gateway = await startWorkers(1, { '/v1': v1, '/v2': backend.url }, { log: { access: 'off' }, usage });
  expect(await statusesOf(gateway.port, key('secret'))).toEqual([410]);
  writeFileSync(names, `"${tagOf('secret')}": "Ann's shop"\n`);
  await eventually(async () => expect(await statusesOf(gateway.port, key('secret'))).toEqual([200]));
});

it('a waiver applies in a gateway inside another server', async () => {
  const routes = {
    '/v1': { upstream: await echoBackend(), retired: true, waivers: [{ ...waivers[0], until: '2127-09-01' }] },
  };
  const notices: string[] = [];
  const gateway = createVersionGateway({ routes }, { notice: (line) => notices.push(line) });
  const { url } = await host(gateway);
  const statuses = ['acme', 'other'].map(
    async (id) => (await fetch(`${url}/v1/x`, { headers: { 'x-client-id': id } })).status,
  );
  expect(await Promise.all(statuses)).toEqual([200, 410]);
  expect(notices).toEqual([expect.stringMatching(/^Waivers cannot match tags/)]);
  await gateway.close();
});

describe('operators', () => {
  it('see which clients are still served, and until when, in status and status --wait', async () => {
    const { gateway, file } = await start();
    const admin = ['--admin', `127.0.0.1:${gateway.adminPort}`];
    const wait = ['status', '--wait', '/v1', '--timeout', '5s', ...admin];
    const words = '/v1 is retired, and still served for 1 waived client: acme until 2027-09-01';
    expect((await runIn('.', ['status', ...admin])).stdout).toContain(words);
    expect(await runIn('.', wait)).toMatchObject({ code: 1, stderr: expect.stringContaining(words) });
    gateway.at('2027-09-01T00:00:00Z');
    expect(await runIn('.', wait)).toMatchObject({ code: 0, stdout: expect.stringContaining('safe to stop') });
    expect(file).toBeDefined();
  });

  it('cannot end a waiver earlier without a reason', async () => {
    const { gateway, file } = await start();
    const edited = (v1: object, more: object = {}) =>
      gateway.edit({ ...file, routes: { ...file.routes, '/v1': { ...file.routes['/v1'], ...v1 } }, ...more });
    const moved = { waivers: [{ ...waivers[0], until: '2027-08-01' }] };
    const message = 'The waiver of acme for /v1 moves from 2027-09-01 to 2027-08-01, which is earlier.';
    expect(await edited(moved)).toMatchObject({ kind: 'refused', refusals: [{ message }] });
    const removed = 'The waiver of acme for /v1 is removed before its end, 2027-09-01.';
    expect(await edited({ waivers: [] })).toMatchObject({ kind: 'refused', refusals: [{ message: removed }] });
    const later = { waivers: [{ ...waivers[0], until: '2027-10-01' }] };
    expect(await edited(later)).toMatchObject({ kind: 'reloaded' });
    expect(await edited(moved, { guard: { quiet: 'off', force: { '/v1': 'acme has moved' } } })).toMatchObject({
      kind: 'reloaded',
    });
    gateway.at('2027-08-01T00:00:00Z');
    expect(await edited({ waivers: [] })).toMatchObject({ kind: 'reloaded' });
  });

  it('cannot take a waiver from a client by another name or identification without a reason', async () => {
    const folder = temporaryFolder();
    const rename = (name: string): void => writeFileSync(join(folder, 'names.yaml'), `"${tagOf('secret')}": ${name}\n`);
    rename('acme');
    const { url: upstream } = await startBackend(okAnswer);
    const v1 = { upstream, retired: true, waivers };
    const usage = { tag_key: tagKey, names: 'names.yaml', identify: ['header:x-api-key', 'header:x-client-id'] };
    const file = { routes: { '/v1': v1, '/v2': upstream }, usage };
    const gateway = await startRestricted(file, '2027-07-01T00:00:00Z', folder);
    rename('globex');
    const lost = (name: string) =>
      `The waiver of acme for /v1 no longer covers ${name}: see usage.names and usage.identify.`;
    const message = `${lost(tagOf('secret'))} Add a waiver of ${tagOf('secret')}.`;
    expect(await gateway.edit(file)).toMatchObject({ kind: 'refused', refusals: [{ message }] });
    expect(await statusesOf(gateway.port, key('secret'))).toEqual([200]);
    const byTag = { ...v1, waivers: [...waivers, { ...waivers[0], client: tagOf('secret') }] };
    const covered = { ...file, routes: { ...file.routes, '/v1': byTag } };
    expect(await gateway.edit(covered)).toMatchObject({ kind: 'reloaded' });
    expect(await statusesOf(gateway.port, key('secret'))).toEqual([200]);
    const narrowed = { ...covered, usage: { ...usage, identify: ['header:x-client-id'] } };
    const ofTag = { message: expect.stringMatching(/^The waiver of x-api-key:#.* no longer covers x-api-key:#/) };
    const refusals = [{ message: expect.stringContaining(lost('x-api-key:acme')) }, ofTag];
    expect(await gateway.edit(narrowed)).toMatchObject({ kind: 'refused', refusals });
    const forced = { ...narrowed, guard: { quiet: 'off', force: { '/v1': 'acme has moved' } } };
    expect(await gateway.edit(forced)).toMatchObject({ kind: 'reloaded' });
  });

  it('are warned of a waiver whose client the ledger does not know', async () => {
    const { gateway, file } = await start();
    await statusesOf(gateway.port, acme);
    const admin = `http://127.0.0.1:${gateway.adminPort}`;
    const typo = { client: 'acmee', until: '2027-09-01', reason: 'contract 4711' };
    await gateway.edit({
      ...file,
      routes: { ...file.routes, '/v1': { ...file.routes['/v1'], waivers: [...waivers, typo] } },
    });
    const plan = await fetch(`${admin}/api/plan`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ retire: 'v1' }),
    });
    const { notes } = (await plan.json()) as { notes: { code: string; text: string }[] };
    expect(notes.filter(({ code }) => code === 'waiver_unseen').map(({ text }) => text)).toEqual([
      'The ledger knows no client of /v1 that the waiver of acmee names.',
    ]);
  });
});
