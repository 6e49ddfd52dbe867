import { expect, it } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { isoText } from '../../../gateway/shared/instant.ts';
import type { BrownoutStatus } from '../../../gateway/versions/lifecycle/brownouts.ts';
import { BrownoutScope } from '../../../gateway/versions/restrictions/brownout.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { okAnswer, startBackend } from '../../support/backend.ts';
import { expectProblem } from '../../support/problem.ts';
import { ask, connectTo, get, message } from '../../support/rawClient.ts';
import { singleValueOf } from '../../support/response.ts';
import { row } from '../../usage/model.ts';
import { type RestrictedGateway, startRestricted } from './restrictedGateway.ts';

const at = '2027-03-02T14:00:00Z';
const end = '2027-03-02T15:00:00Z';
const soon = '2027-03-02T13:59:40Z';
const inside = '2027-03-02T14:30:00Z';
const window = { at: '2027-03-02T14:00Z', for: '1h' };
const permissive = { unnamed: '100%', max_share: '100%' };

async function start(v1: object = {}, settings: object = {}, folder?: string) {
  const backend = await startBackend(okAnswer);
  const successor = { fails: false };
  const { url } = await startBackend(() =>
    successor.fails ? 'HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n' : okAnswer,
  );
  const dates = { deprecation: '2027-01-01', sunset: '2027-06-01' };
  const file = {
    routes: { '/v1': { upstream: backend.url, ...dates, brownouts: [window], ...v1 }, '/v2': url },
    brownout: permissive,
    ...settings,
  };
  const gateway = await startRestricted(file, '2027-03-02T13:00:00Z', folder);
  return { backend, successor, file, folder: gateway.folder, gateway };
}

async function brownoutsOf({ adminPort }: RestrictedGateway): Promise<BrownoutStatus[]> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/api/brownouts`);
  return ((await response.json()) as { brownouts: BrownoutStatus[] }).brownouts;
}

async function reaches(gateway: RestrictedGateway, state: BrownoutStatus['state']): Promise<void> {
  await expect.poll(async () => (await brownoutsOf(gateway))[0]).toMatchObject({ state });
}

const statusOf = async (gateway: RestrictedGateway, path = '/v1/x', client = 'a') =>
  (await ask(gateway.port, get(path, `X-Client-Id: ${client}`))).status;

it('refuses requests only between its begin and its end, exact to the millisecond', async () => {
  const { gateway } = await start();
  expect(await brownoutsOf(gateway)).toEqual([
    {
      version: 'v1',
      at: isoText(Date.parse(at)),
      until: isoText(Date.parse(end)),
      clients: 1,
      routes: null,
      state: 'planned',
      reason: null,
      successor_checked: null,
    },
  ]);
  gateway.at(soon);
  await reaches(gateway, 'approved');
  const seen: [string, number][] = [];
  for (const time of ['2027-03-02T13:59:59.999Z', at, inside, '2027-03-02T14:59:59.999Z', end]) {
    gateway.at(time);
    seen.push([time, await statusOf(gateway)]);
  }
  expect(seen.map(([, status]) => status)).toEqual([200, 503, 503, 503, 200]);
  await expect.poll(() => gateway.notices).toContain(`/v1: the brownout of ${at} has ended`);
});

it('answers with a problem that tells when it ends', async () => {
  const next = { at: '2027-04-02T14:00Z', for: '1h' };
  const { gateway } = await start({ brownouts: [window, next] });
  gateway.at(soon);
  await reaches(gateway, 'approved');
  gateway.at(inside);
  const refused = await ask(gateway.port, get('/v1/x'));
  expect(expectProblem(refused, 503)).toMatchObject({
    code: 'VERSION_BROWNOUT',
    version: 'v1',
    ends_at: end,
    next: '2027-04-02T14:00:00Z',
    successor: '/v2',
    sunset: '2027-06-01T00:00:00Z',
  });
  expect(singleValueOf(refused, 'cache-control')).toBe('no-store');
  expect(singleValueOf(refused, 'retry-after')).toBe('120');
  expect(singleValueOf(refused, 'deprecation')).toBe('@1798761600');
  expect(singleValueOf(refused, 'sunset')).toBe('Tue, 01 Jun 2027 00:00:00 GMT');
  expect(singleValueOf(refused, 'link')).toBe('</v2/x>; rel="successor-version"');
  const head = await ask(gateway.port, message('HEAD /v1/x HTTP/1.1', 'Host: api.test'));
  expect([head.status, head.body.length, singleValueOf(head, 'retry-after')]).toEqual([503, 0, '120']);
  const fields = ['Host: api.test', 'Origin: https://app.test', 'Access-Control-Request-Method: GET'];
  expect((await ask(gateway.port, message('OPTIONS /v1/x HTTP/1.1', ...fields))).status).toBe(204);
  const upgrade = ['Host: api.test', 'Connection: Upgrade', 'Upgrade: websocket'];
  expect((await ask(gateway.port, message('GET /v1/x HTTP/1.1', ...upgrade))).status).toBe(503);
  expect(await statusOf(gateway, '/v2/x')).toBe(200);
  gateway.at('2027-03-02T14:59:30.500Z');
  expect(singleValueOf(await ask(gateway.port, get('/v1/x')), 'retry-after')).toBe('30');
});

it('is not announced any more after it was skipped or stopped', async () => {
  const next = { at: '2027-04-02T14:00Z', for: '1h' };
  const last = { at: '2027-05-02T14:00Z', for: '1h' };
  const { gateway } = await start({ brownouts: [window, next, last] });
  gateway.at(soon);
  await reaches(gateway, 'approved');
  gateway.at(inside);
  const stop = (at: string) =>
    fetch(`http://127.0.0.1:${gateway.adminPort}/api/brownouts/stop`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ version: 'v1', at }),
    });
  const starts = async () => {
    const { body } = await ask(gateway.port, get('/', 'Accept: application/json'));
    const [v1] = (JSON.parse(body) as { versions: { brownouts?: { starts_at: string }[] }[] }).versions;
    return v1?.brownouts?.map((one) => one.starts_at);
  };
  const cancelled = async () =>
    (await ask(gateway.port, get('/lifecycle.ics'))).body.match(/STATUS:CANCELLED/g)?.length ?? 0;
  expect(await starts()).toEqual([at, '2027-04-02T14:00:00Z', '2027-05-02T14:00:00Z']);
  expect((await stop('2027-04-02T14:00Z')).status).toBe(200);
  expect(JSON.parse((await ask(gateway.port, get('/v1/x'))).body).next).toBe('2027-05-02T14:00:00Z');
  expect([await starts(), await cancelled()]).toEqual([[at, '2027-05-02T14:00:00Z'], 1]);
  expect((await stop(at)).status).toBe(200);
  expect([await starts(), await cancelled()]).toEqual([['2027-05-02T14:00:00Z'], 2]);
});

it('is not announced again if an edit makes it longer after it has ended', async () => {
  const { gateway, file } = await start();
  gateway.at(soon);
  await reaches(gateway, 'approved');
  gateway.at(end);
  await expect.poll(() => gateway.notices).toEqual([expect.stringMatching(/has ended$/)]);
  const v1 = { ...file.routes['/v1'], brownouts: [{ ...window, for: '3h' }] };
  const guard = { quiet: 'off', notice: 'off', force: { '/v1': 'it was too short' } };
  expect(await gateway.edit({ ...file, routes: { ...file.routes, '/v1': v1 }, guard })).toMatchObject({
    kind: 'reloaded',
  });
  gateway.at('2027-03-02T15:10:00Z');
  expect(await statusOf(gateway)).toBe(200);
  const index = async () => (await ask(gateway.port, get('/', 'Accept: application/json'))).body;
  await expect.poll(index).not.toContain('brownouts');
  expect((await ask(gateway.port, get('/lifecycle.ics'))).body).toContain('Cancelled: from 2027-03-02T15:00:00Z on');
});

it('leaves a response and a tunnel open that began before it', async () => {
  const rest = Promise.withResolvers<void>();
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 2\r\n\r\n';
  const switched = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  const { url } = await startBackend(({ target }) =>
    target === '/tunnel'
      ? [{ write: switched }, { take: (socket) => socket.on('data', (data) => socket.write(`echo ${data}`)) }]
      : [{ write: `${head}a` }, { wait: rest.promise }, { write: 'b' }],
  );
  const { gateway } = await start({ upstream: url });
  const upgrade = get('/v1/tunnel', 'Connection: Upgrade', 'Upgrade: websocket');
  const [stream, tunnel] = [await connectTo(gateway.port), await connectTo(gateway.port)];
  stream.send(get('/v1/events'));
  tunnel.send(upgrade);
  await expect.poll(() => stream.pending).toMatch(/\r\n\r\na$/);
  expect((await tunnel.response()).status).toBe(101);
  gateway.at(soon);
  await reaches(gateway, 'approved');
  gateway.at(inside);
  expect(await statusOf(gateway)).toBe(503);
  expect((await ask(gateway.port, upgrade)).status).toBe(503);
  tunnel.send('one');
  expect(await tunnel.bytes(8)).toBe('echo one');
  rest.resolve();
  expect((await stream.response()).body).toBe('ab');
});

it('answers 410 if that is configured, and no cache may keep the response', async () => {
  const { gateway } = await start({}, { brownout: { ...permissive, status: 410 } });
  gateway.at(soon);
  await reaches(gateway, 'approved');
  gateway.at(inside);
  const refused = await ask(gateway.port, get('/v1/x'));
  expect(expectProblem(refused, 410)).toMatchObject({ code: 'VERSION_BROWNOUT', status: 410 });
  expect(singleValueOf(refused, 'cache-control')).toBe('no-store');
});

it('refuses the chosen clients and routes, and never those that are spared, ignored or have a waiver', async () => {
  const names = Array.from({ length: 60 }, (_one, number) => `client-${number}`);
  const [spared = '', ignored = '', waived = ''] = names;
  const waivers = [{ client: waived, until: '2027-09-01', reason: 'contract 4711' }];
  const brownouts = [{ ...window, clients: '50%', routes: ['GET /drinks/{id}'] }];
  const settings = { brownout: { ...permissive, spare: [spared] }, retire: { ignore_clients: [ignored] } };
  const { gateway, file } = await start({ brownouts, waivers }, settings);
  gateway.at(soon);
  await reaches(gateway, 'approved');
  gateway.at(inside);
  const snapshot = snapshotFrom(file);
  const version = snapshot.sortedVersions[0] as never;
  const scope = new BrownoutScope(version, snapshot.sortedVersions[0]?.brownouts[0] as never, []);
  for (const name of names) {
    const isSpared = [spared, ignored, waived].includes(name);
    const expected = !isSpared && scope.includesClient(`x-client-id:${name}`) ? 503 : 200;
    expect([name, await statusOf(gateway, '/v1/drinks/7', name)]).toEqual([name, expected]);
    expect([name, await statusOf(gateway, '/v1/drinks/7/', name)]).toEqual([name, expected]);
    expect(await statusOf(gateway, '/v1/drinks', name)).toBe(200);
  }
});

it('answers the preflights of requests that it may refuse, and passes others on to the backend', async () => {
  const { gateway, backend } = await start({ brownouts: [{ ...window, routes: ['GET /drinks/{id}'] }] });
  gateway.at(soon);
  await reaches(gateway, 'approved');
  gateway.at(inside);
  const preflight = async (path: string, method: string) => {
    const fields = ['Host: api.test', 'Origin: https://app.test', `Access-Control-Request-Method: ${method}`];
    return (await ask(gateway.port, message(`OPTIONS ${path} HTTP/1.1`, ...fields), 'OPTIONS')).status;
  };
  expect([await preflight('/v1/drinks/7', 'GET'), await preflight('/v1/drinks/7', 'HEAD')]).toEqual([204, 204]);
  expect(backend.requests).toHaveLength(0);
  expect([await preflight('/v1/drinks/7', 'PUT'), await preflight('/v1/drinks', 'GET')]).toEqual([200, 200]);
  expect(backend.requests).toHaveLength(2);
});

it('is skipped, with the reason, unless its conditions are met', async () => {
  const { gateway } = await start({}, { brownout: { unnamed: '5%', max_share: '100%' } });
  gateway.ledger.add([row({ first: Date.parse('2027-03-01T00:00:00Z'), requests: 10 })]);
  gateway.at(soon);
  await reaches(gateway, 'skipped');
  const [{ reason }] = (await brownoutsOf(gateway)) as [BrownoutStatus];
  expect(reason).toMatch(/clients without a name in usage.names made 100% of the requests/);
  gateway.at(inside);
  expect(await statusOf(gateway)).toBe(200);
  expect(gateway.notices).toEqual([`/v1: the brownout of ${at} is skipped: ${reason}`]);
});

it('is skipped with a new ledger, which does not know the clients of the last week', async () => {
  const { gateway, file, folder } = await start({}, {}, temporaryFolder());
  gateway.at(soon);
  await reaches(gateway, 'skipped');
  const [{ reason }] = (await brownoutsOf(gateway)) as [BrownoutStatus];
  expect(reason).toBe(
    'requests of the last week may be missing: The usage ledger begins at 2027-03-02T13:00:00Z; it will cover the last 7 days at 2027-03-09T13:00:00Z, in 6 days',
  );
  await gateway.close();
  const again = await startRestricted(file, inside, folder);
  await reaches(again, 'skipped');
  expect(await statusOf(again)).toBe(200);
});

it('is skipped if the successor has no healthy target', async () => {
  const { gateway, successor } = await start(
    {},
    { defaults: { health: { path: '/healthz', interval: '50ms', timeout: '40ms', unhealthy_after: 1 } } },
  );
  successor.fails = true;
  const isUnhealthy = async () =>
    (await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text()).match(
      /version_gateway_target_up\{version="v2".* 0\n/,
    ) !== null;
  await expect.poll(isUnhealthy).toBe(true);
  gateway.at(soon);
  await reaches(gateway, 'skipped');
  expect((await brownoutsOf(gateway))[0]?.reason).toMatch(/successor \/v2 has no healthy target/);
});

it.each([
  [{ retired: true }, /the version is retired/],
  [{ successor: '/v2' }, undefined],
])('is skipped for a version with %j: %s', async (v1, reason) => {
  const { gateway } = await start(v1);
  gateway.at(soon);
  await reaches(gateway, reason ? 'skipped' : 'approved');
  const [one] = await brownoutsOf(gateway);
  if (reason) expect(one?.reason).toMatch(reason);
  else expect(one?.reason).toBeNull();
});

it('is stopped by an operator, and stays stopped over a reload and a restart', async () => {
  const { gateway, file, folder } = await start();
  gateway.at(soon);
  await reaches(gateway, 'approved');
  gateway.at(inside);
  expect(await statusOf(gateway)).toBe(503);
  const post = (body: object, { adminPort } = gateway) =>
    fetch(`http://127.0.0.1:${adminPort}/api/brownouts/stop`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect((await post({ version: 7 })).status).toBe(400);
  expect((await post({ version: 'v9' })).status).toBe(409);
  expect((await post({ version: 'v1', at: 'noon' })).status).toBe(400);
  expect((await post({ version: 'v2' })).status).toBe(409);
  const stopped = await post({ version: 'v1' });
  expect(await stopped.json()).toMatchObject({
    stored: true,
    brownout: { state: 'stopped', reason: 'stopped by an operator' },
  });
  expect(await statusOf(gateway)).toBe(200);
  expect((await post({ version: 'v1' })).status).toBe(409);
  const metrics = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text();
  expect(metrics).toContain('version_gateway_brownouts{version="v1",state="stopped"} 1');
  await gateway.edit({ ...file, log: { sample: '10%' } });
  expect(await statusOf(gateway)).toBe(200);
  await gateway.close();
  const again = await startRestricted(file, inside, folder);
  await reaches(again, 'stopped');
  expect(await statusOf(again)).toBe(200);
});

it('continues over a reload and a restart', async () => {
  const { gateway, file, folder } = await start();
  gateway.at(soon);
  await reaches(gateway, 'approved');
  gateway.at(inside);
  await gateway.edit({ ...file, log: { sample: '10%' } });
  expect(await statusOf(gateway)).toBe(503);
  await gateway.close();
  const again = await startRestricted(file, inside, folder);
  await reaches(again, 'running');
  expect(await statusOf(again)).toBe(503);
});

it('ends within 75 s if the successor fails', async () => {
  const { gateway, successor } = await start();
  gateway.at(soon);
  await reaches(gateway, 'approved');
  successor.fails = true;
  const begin = Date.parse(at);
  let after = 0;
  for (; after <= 120_000 && (await brownoutsOf(gateway))[0]?.state !== 'stopped'; after += 5_000) {
    const now = new Date(begin + after).toISOString();
    for (let n = 0; n < 5; n += 1) await statusOf(gateway, '/v2/x');
    gateway.at(now);
    const isChecked = async () => {
      const [{ successor_checked: checked, state }] = (await brownoutsOf(gateway)) as [BrownoutStatus];
      return state === 'stopped' || (checked !== null && Date.parse(checked) >= begin + after);
    };
    await expect.poll(isChecked).toBe(true);
  }
  expect(after).toBeLessThanOrEqual(75_000);
  expect((await brownoutsOf(gateway))[0]?.reason).toMatch(/successor \/v2 answers 100% of its requests with 5xx/);
  await expect.poll(() => statusOf(gateway)).toBe(200);
});

it('is announced in the index until its end', async () => {
  const brownouts = [{ ...window, clients: '25%', routes: ['GET /drinks/{id}'] }];
  const { gateway } = await start({ brownouts });
  const index = async () => {
    const { body } = await ask(gateway.port, get('/', 'Accept: application/json'));
    return (JSON.parse(body) as { versions: { brownouts?: object[] }[] }).versions.map((version) => version.brownouts);
  };
  const page = async () => (await ask(gateway.port, get('/', 'Accept: text/html'))).body;
  const announced = { starts_at: at, ends_at: end, clients: 0.25, routes: ['GET /drinks/{id}'] };
  expect(await index()).toEqual([[announced], undefined]);
  expect(await page()).toContain('Next brownout');
  gateway.at(inside);
  expect(await page()).toContain('Brownout since');
  gateway.at(end);
  expect(await index()).toEqual([undefined, undefined]);
  expect(await page()).not.toMatch(/brownout/i);
});
