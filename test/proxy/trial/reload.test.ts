import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { freeUrl } from '../../support/gateway.ts';
import { reasonsOf, startBackend, startEdited } from './candidates.ts';

const short = { trial: '2s' };

const isV1 = (path: string): boolean => /^\/(drinks|drinks\/\d+|menu)$/.test(path);
const isV2 = (path: string): boolean => /^\/v2\/(cocktails|cocktails\/\d+|menu)$/.test(path);

async function startTwo(guard: object = short) {
  const [v1, v2] = [await startBackend(isV1), await startBackend(isV2)];
  const document = { guard, routes: { '/v1': v1.url, '/v2': { upstream: v2.url, prefix: 'forward' } } };
  const edited = await startEdited(document);
  expect(await edited.get('/v1/drinks', '/v1/menu', '/v2/cocktails', '/v2/cocktails/7', '/v2/menu')).toEqual(
    Array(5).fill(200),
  );
  const withV2 = (v2: object, more: object = guard) => ({
    ...document,
    guard: more,
    routes: { ...document.routes, '/v2': v2 },
  });
  return { ...edited, v1, v2, document, withV2 };
}

it('refuses a target where nothing listens', async () => {
  const { edit, preview, get, withV2 } = await startTwo();
  const edited = withV2({ upstream: await freeUrl(), prefix: 'forward' });
  for (const outcome of [await preview(edited), await edit(edited)]) {
    expect(outcome.kind).toBe('refused');
    expect(reasonsOf(outcome)).toMatch(/^\/v2 gets the target \S+, which cannot be reached: .*ECONNREFUSED/);
  }
  expect(await get('/v2/cocktails')).toEqual([200]);
});

it('refuses to remove a target if those that stay do not work', async () => {
  const { edit, get, withV2, v2 } = await startTwo();
  const [dead, other] = [await freeUrl(), await startBackend(isV2)];
  const kept = (...upstream: readonly string[]) => withV2({ upstream, prefix: 'forward' });
  const force = { ...short, force: { '/v2': 'it is started later' } };
  const both = withV2({ upstream: [v2.url, dead], prefix: 'forward' }, force);
  expect((await edit(both)).kind).toBe('reloaded');
  expect(reasonsOf(await edit(kept(dead)))).toMatch(/^\/v2 keeps the target \S+, which cannot be reached/);
  expect(await get('/v2/cocktails')).toEqual([200]);
  // One that works is enough.
  const three = withV2({ upstream: [v2.url, dead, other.url], prefix: 'forward' });
  expect((await edit(three)).kind).toBe('reloaded');
  expect((await edit(kept(dead, other.url))).kind).toBe('reloaded');
});

it('does not accept the gateway itself as a target, by address and by name', async () => {
  const { edit, preview, get, withV2, gateway } = await startTwo();
  for (const host of ['127.0.0.1', 'localhost', '0.0.0.0']) {
    const edited = withV2({ upstream: `http://${host}:${gateway.port}`, prefix: 'forward' });
    for (const outcome of [await preview(edited), await edit(edited)]) {
      expect(outcome.kind).toBe('faulty');
      expect(reasonsOf(outcome)).toContain('is this gateway itself (gateway.listen)');
    }
  }
  expect(reasonsOf(await edit(withV2({ upstream: `http://localhost:${gateway.adminPort}` })))).toContain(
    'gateway.admin',
  );
  expect(await get('/v2/cocktails')).toEqual([200]);
});

it('refuses the backend of another version that does not know the routes of this one', async () => {
  const { edit, get, withV2, v1 } = await startTwo();
  const outcome = await edit(withV2({ upstream: v1.url, prefix: 'forward' }));
  expect(outcome.kind).toBe('refused');
  expect(reasonsOf(outcome)).toContain('loses 3 of 3 routes that are answered now');
  expect(reasonsOf(outcome)).toContain('GET /cocktails/{} 404');
  expect(reasonsOf(outcome)).not.toContain('/7');
  expect(await get('/v2/cocktails', '/v2/menu')).toEqual([200, 200]);
});

it('warns of the backend of another version if it answers the same routes', async () => {
  const both = await startBackend((path) => isV1(path) || isV2(path));
  const { edit, get, withV2, document } = await startTwo();
  await edit({ ...document, routes: { ...document.routes, '/v1': both.url } });
  const edited = withV2({ upstream: both.url, prefix: 'forward' });
  const outcome = await edit({ ...edited, routes: { ...edited.routes, '/v1': both.url } });
  expect(outcome).toMatchObject({
    kind: 'reloaded',
    warnings: [`/v2 gets ${both.url}, which is also the target of /v1`],
  });
  expect(await get('/v2/cocktails')).toEqual([200]);
});

it('refuses another path form that the backend does not know', async () => {
  const { edit, preview, get, withV2, v2 } = await startTwo();
  const edited = withV2({ upstream: v2.url, prefix: 'strip' });
  for (const outcome of [await preview(edited), await edit(edited)]) {
    expect(outcome.kind).toBe('refused');
    expect(reasonsOf(outcome)).toMatch(/would get the requests of \/v2 in another form, and loses 3 of 3 routes/);
  }
  expect(await get('/v2/cocktails')).toEqual([200]);
});

it('refuses a target whose health path is not answered 2xx or 3xx', async () => {
  const { edit, withV2 } = await startTwo();
  const sick = await startBackend((path) => (path === '/health' ? 503 : isV2(path)));
  const outcome = await edit(withV2({ upstream: sick.url, prefix: 'forward', health: { path: '/health' } }));
  expect(reasonsOf(outcome)).toContain('its health path is answered 503');
});

it.each([503, 200])('refuses to require healthy targets if none is: the health path is answered %i', async (status) => {
  const backend = await startBackend((path) => (path === '/health' ? status : isV2(path)));
  const routes = (more: object) => {
    const health = { path: '/health', interval: '100ms', ...more };
    return { guard: short, routes: { '/v2': { upstream: backend.url, prefix: 'forward', health } } };
  };
  const { edit, get } = await startEdited(routes({}));
  expect(await get('/v2/cocktails')).toEqual([200]);
  const outcome = await edit(routes({ on_none_healthy: 'refuse' }));
  if (status === 200) expect(outcome.kind).toBe('reloaded');
  else
    expect(reasonsOf(outcome)).toMatch(
      /^\/v2 refuses requests while no target is healthy \(on_none_healthy\), and keeps the target \S+, which is not healthy: its health path is answered 503/,
    );
  expect(await get('/v2/cocktails')).toEqual([200]);
});

it('requires healthy targets if one of them is, and no longer requires them while none is', async () => {
  const answers = { sick: 503 };
  const sick = await startBackend((path) => (path === '/health' ? answers.sick : isV2(path)));
  const sound = await startBackend((path) => path === '/health' || isV2(path));
  const routes = (upstream: readonly string[], on_none_healthy: string) => {
    const health = { path: '/health', interval: '100ms', on_none_healthy };
    return { guard: short, routes: { '/v2': { upstream, prefix: 'forward', health } } };
  };
  const { edit } = await startEdited(routes([sick.url], 'try'));
  expect((await edit(routes([sick.url, sound.url], 'refuse'))).kind).toBe('reloaded');
  answers.sick = 200;
  expect((await edit(routes([sick.url], 'refuse'))).kind).toBe('reloaded');
  answers.sick = 503;
  expect((await edit(routes([sick.url], 'try'))).kind).toBe('reloaded');
});

it('waits for a target that is just starting', async () => {
  const { edit, get, withV2, notices } = await startTwo({ trial: '60s' });
  const url = await freeUrl();
  const reload = edit(withV2({ upstream: url, prefix: 'forward' }, { trial: '60s' }));
  await eventually(() => expect(notices.join('\n')).toContain(`/v2: ${url} cannot be reached`));
  await startBackend(isV2, Number(new URL(url).port));
  expect((await reload).kind).toBe('reloaded');
  expect(await get('/v2/cocktails')).toEqual([200]);
});

it('tries with GET, without credentials, under its own name, and counts nothing', async () => {
  const { edit, withV2, post, admin } = await startTwo();
  const requestsOf = async () => {
    await post('/api/plan', { since: '1h' });
    const { rows } = (await (await fetch(`${admin}/api/usage?by=version`)).json()) as { rows: object[] };
    return rows;
  };
  const before = await requestsOf();
  const other = await startBackend(isV2);
  expect((await edit(withV2({ upstream: other.url, prefix: 'forward' }))).kind).toBe('reloaded');
  expect(new Set(other.requests.map(({ url }) => url))).toEqual(
    new Set(['/v2/cocktails', '/v2/cocktails/7', '/v2/menu']),
  );
  for (const { method, headers } of other.requests) {
    expect(method).toBe('GET');
    expect(headers).toEqual({
      host: new URL(other.url).host,
      'user-agent': 'version-gateway-trial',
      connection: 'close',
    });
  }
  expect((await requestsOf()).map((row) => ({ ...row, share: 0 }))).toEqual(
    before.map((row) => ({ ...row, share: 0 })),
  );
});

it('takes 401 and 403 as answers, and does not blame a target for routes that the current one loses in the same way', async () => {
  const { edit, withV2 } = await startTwo();
  const guarded = await startBackend((path) => (isV2(path) ? 401 : 404));
  expect((await edit(withV2({ upstream: guarded.url, prefix: 'forward' }))).kind).toBe('reloaded');
  // Both targets answer 404 to requests without credentials, as many APIs do.
  const hidden = await startBackend((_path, { headers }) => (headers['x-api-key'] === 'secret' ? 200 : 404));
  const { edit: editHidden, get } = await startEdited({ guard: short, routes: { '/v2': hidden.url } });
  expect(await get('/v2/cocktails')).toEqual([200]);
  const alsoHidden = await startBackend(() => 404);
  expect((await editHidden({ guard: short, routes: { '/v2': alsoHidden.url } })).kind).toBe('reloaded');
});

it('applies with a reason in guard.force, or with guard.trial: off, without a trial', async () => {
  const { edit, withV2, v1, v2 } = await startTwo();
  const dead = { upstream: await freeUrl(), prefix: 'forward' };
  expect((await edit(withV2(dead, { ...short, force: { '/v2': 'it starts tomorrow' } }))).kind).toBe('reloaded');
  expect((await edit(withV2({ upstream: v2.url, prefix: 'forward' }))).kind).toBe('reloaded');
  const tried = v1.requests.length;
  expect((await edit(withV2({ upstream: v1.url }, { trial: 'off' }))).kind).toBe('reloaded');
  expect(v1.requests).toHaveLength(tried);
});

it('tries only the connection and the health path with guard.trial: connect', async () => {
  const { edit, withV2, v1 } = await startTwo();
  const tried = v1.requests.length;
  expect((await edit(withV2({ upstream: v1.url }, { trial: 'connect' }))).kind).toBe('reloaded');
  expect(v1.requests).toHaveLength(tried);
});

it('asks no target again if an edit gives no version a new one', async () => {
  const { edit, document, v1, v2 } = await startTwo();
  const asked = v1.requests.length + v2.requests.length;
  expect((await edit({ ...document, defaults: { timeouts: { first_byte: '7s' } } })).kind).toBe('reloaded');
  expect(v1.requests.length + v2.requests.length).toBe(asked);
});

it('stops while a trial runs', async () => {
  const { edit, withV2, notices, close } = await startTwo();
  const reload = edit(withV2({ upstream: await freeUrl(), prefix: 'forward' }, { trial: '10m' }));
  await eventually(() => expect(notices.join('\n')).toContain('cannot be reached'));
  await close();
  expect((await reload).kind).toBe('refused');
});
