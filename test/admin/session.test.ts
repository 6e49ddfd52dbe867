import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { createAdmin } from '../../gateway/admin/app.ts';
import { TokenAttempts } from '../../gateway/admin/caller.ts';
import { Sessions, sessionLifetime } from '../../gateway/admin/dashboard/sessions.ts';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { serve } from '../discovery/server.ts';
import { eventually } from '../support/eventually.ts';

const token = 'correct-horse-battery-staple';
const start = Date.parse('2026-11-21T10:00:00Z');
const host = 'gateway.example:9901';
const origin = `http://${host}`;

/** An admin listener whose requests all come from other machines. */
async function startAdmin() {
  const state = {
    now: start,
    ready: true,
    token: token as string | undefined,
    address: '10.0.0.9',
    reloads: 0,
    generation: 1,
    proxies: [] as readonly string[],
  };
  const source = {
    get current() {
      const token = state.token === undefined ? {} : { admin_token: state.token };
      const gateway = { ...token, trusted_proxies: state.proxies };
      return snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:3001' }, gateway });
    },
  };
  const listener = createAdmin(
    source,
    { ready: () => state.ready },
    {
      reload: async () => {
        state.reloads += 1;
        return { kind: 'unchanged' };
      },
      preview: async () => ({ kind: 'unchanged' }),
      config: () => ({
        fingerprint: 'x',
        generation: state.generation,
        loadedAt: 0,
        trigger: 'start',
        forced: [],
        lastFailure: undefined,
      }),
      report: async () => ({ versions: [], workers: [] }),
      clock: { now: () => state.now },
    },
  );
  const { port } = await serve((req, res) => {
    Object.defineProperty(req.socket, 'remoteAddress', { value: state.address, configurable: true });
    listener(req, res);
  });
  const open = async (method: string, path: string, headers: Record<string, string> = {}, body = '') => {
    const outgoing = request({ port, host: '127.0.0.1', method, path, headers: { host, ...headers }, agent: false });
    outgoing.end(body);
    const [incoming] = await once(outgoing, 'response');
    return incoming;
  };
  const ask = async (...of: Parameters<typeof open>) => {
    const incoming = await open(...of);
    return { status: incoming.statusCode, headers: incoming.headers, body: await text(incoming) };
  };
  const logIn = (given = token, headers: Record<string, string> = {}) => {
    const form = { 'content-type': 'application/x-www-form-urlencoded', origin };
    return ask('POST', '/login', { ...form, ...headers }, `username=operator&token=${encodeURIComponent(given)}`);
  };
  const cookie = async () => String((await logIn()).headers['set-cookie']?.[0]).replace(/;.*/, '');
  return { state, open, ask, logIn, cookie };
}

describe('without a token', () => {
  it.each(['/', '/login', '/assets/style.css'])('%s is refused for other host names', async (path) => {
    const { ask, state } = await startAdmin();
    state.token = undefined;
    expect((await ask('GET', path)).status).toBe(403);
  });
});

describe('a browser that is not logged in', () => {
  it('is redirected to the login form', async () => {
    const { ask } = await startAdmin();
    const { status, headers } = await ask('GET', '/');
    expect([status, headers['location']]).toEqual([303, '/login']);
    for (const path of ['/api/status', '/api/events', '/assets/main.js', '/api/usage', '/metrics'])
      expect([path, (await ask('GET', path)).status]).toEqual([path, 403]);
  });

  it('gets a form without scripts, and a policy that forbids them', async () => {
    const { ask } = await startAdmin();
    const { status, headers, body } = await ask('GET', '/login');
    expect([status, body.includes('<script')]).toEqual([200, false]);
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect((await ask('GET', '/assets/style.css')).status).toBe(200);
  });

  it.each([
    ['a wrong token', `${token}x`],
    ['none', ''],
    ['markup', '<img src=x onerror=alert(1)>'],
  ])('gets an error and no cookie for %s', async (_name, given) => {
    const { logIn } = await startAdmin();
    const { status, headers, body } = await logIn(given);
    expect([status, headers['set-cookie'], body.includes('onerror')]).toEqual([401, undefined, false]);
    expect(body).toContain('This is not the admin token.');
  });

  it.each([
    [{ origin: 'http://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'same-origin', origin: 'null' }, 303],
  ])('%o may log in: %i', async (headers, expected) => {
    const { logIn } = await startAdmin();
    expect((await logIn(token, headers)).status).toBe(expected);
  });

  it('must wait after five wrong tokens within a minute, even with the right one', async () => {
    const { logIn, state } = await startAdmin();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect((await logIn('wrong')).status).toBe(401);
      state.now += 1_000;
    }
    const { status, headers, body } = await logIn();
    expect([status, headers['retry-after'], headers['set-cookie']]).toEqual([429, '55', undefined]);
    expect(body).toContain('Try again in 55 seconds.');
    state.address = '10.0.0.10';
    expect((await logIn()).status).toBe(303);
    state.address = '10.0.0.9';
    state.now += 55_000;
    expect((await logIn()).status).toBe(303);
  });

  it('is counted by its own address behind a trusted proxy only', async () => {
    const { logIn, state } = await startAdmin();
    const from = (address: string, given?: string) => logIn(given, { 'x-forwarded-for': address });
    state.proxies = ['10.0.0.0/24'];
    for (let attempt = 0; attempt < 5; attempt += 1) await from('192.0.2.7', 'wrong');
    expect((await from('192.0.2.7')).status).toBe(429);
    expect((await from('192.0.2.8')).status).toBe(303);
    // A client cannot change its address with a field of its own before that of the proxy.
    expect((await from('192.0.2.8, 192.0.2.7')).status).toBe(429);
    state.proxies = [];
    state.address = '10.0.0.10';
    for (let attempt = 0; attempt < 5; attempt += 1) await from(`192.0.2.${attempt}`, 'wrong');
    expect((await from('192.0.2.9')).status).toBe(429);
  });

  it('is counted by the address of a proxy that forwards none', async () => {
    const { logIn, state } = await startAdmin();
    state.proxies = ['10.0.0.0/24'];
    for (let attempt = 0; attempt < 5; attempt += 1)
      await logIn('wrong', { 'x-forwarded-for': `nobody-${attempt}-${'x'.repeat(1_000)}` });
    expect((await logIn(token, { 'x-forwarded-for': 'nobody-at-all' })).status).toBe(429);
  });

  it('cannot send a form that is too long', async () => {
    const { logIn } = await startAdmin();
    expect((await logIn('x'.repeat(5_000))).status).toBe(413);
  });
});

describe('a bearer token', () => {
  const bearer = (given: string) => ({ authorization: `Bearer ${given}` });

  it('that is wrong is accepted five times a minute; then the right one has to wait as well', async () => {
    const { ask, state } = await startAdmin();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect((await ask('GET', '/api/status', bearer(`wrong-${attempt}`))).status).toBe(403);
      state.now += 1_000;
    }
    const { status, headers, body } = await ask('GET', '/api/status', bearer('wrong'));
    expect([status, headers['retry-after'], headers['content-type']]).toEqual([429, '55', 'application/problem+json']);
    expect(JSON.parse(body)).toMatchObject({ status: 429, code: 'TOO_MANY_ATTEMPTS' });
    // Otherwise the answer would reveal which guess is right.
    expect((await ask('GET', '/api/status', bearer(token))).status).toBe(429);
    state.address = '10.0.0.10';
    expect((await ask('GET', '/api/status', bearer(token))).status).toBe(200);
    state.address = '10.0.0.9';
    state.now += 55_000;
    expect((await ask('GET', '/api/status', bearer(token))).status).toBe(200);
  });

  it('always admits a scraper, however many wrong ones come from its address', async () => {
    const { ask, state } = await startAdmin();
    expect((await ask('GET', '/metrics', bearer(token))).status).toBe(200);
    for (let attempt = 0; attempt < 20; attempt += 1) await ask('GET', '/metrics', bearer('wrong'));
    expect((await ask('GET', '/metrics', bearer('wrong'))).status).toBe(429);
    expect((await ask('GET', '/metrics', bearer(token))).status).toBe(200);
    state.token = 'another-token-by-now';
    expect((await ask('GET', '/metrics', bearer(state.token))).status).toBe(429);
  });

  it('counts together with the form', async () => {
    const { ask, logIn } = await startAdmin();
    for (let attempt = 0; attempt < 3; attempt += 1) await ask('GET', '/api/status', bearer('wrong'));
    for (let attempt = 0; attempt < 2; attempt += 1) expect((await logIn('wrong')).status).toBe(401);
    expect((await logIn('wrong')).status).toBe(429);
  });

  it('does not lock out sessions and this machine', async () => {
    const { ask, cookie } = await startAdmin();
    const headers = { cookie: await cookie(), ...bearer('stale') };
    for (let attempt = 0; attempt < 9; attempt += 1)
      expect((await ask('GET', '/api/status', headers)).status).toBe(200);
  });
});

describe('a session', () => {
  it('is a cookie that scripts and other sites cannot read', async () => {
    const { logIn } = await startAdmin();
    const { status, headers } = await logIn();
    expect([status, headers['location']]).toEqual([303, '/']);
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(/^version_gateway_session=[\w-]{43}; Path=\/; Max-Age=28800; HttpOnly; SameSite=Strict$/),
    ]);
  });

  it.each([
    [{ origin: `https://${host}` }],
    [{ 'sec-fetch-site': 'same-origin', 'x-forwarded-proto': 'https', origin: `https://${host}` }],
  ])('is limited to https if the browser uses it: %o', async (headers) => {
    const { logIn } = await startAdmin();
    expect((await logIn(token, headers)).headers['set-cookie']?.[0]).toMatch(/; Secure$/);
  });

  it('is valid under any host name, for eight hours', async () => {
    const { ask, cookie, state } = await startAdmin();
    const headers = { cookie: `theme=dark; ${await cookie()}` };
    expect((await ask('GET', '/', headers)).status).toBe(200);
    state.now += sessionLifetime - 1;
    expect((await ask('GET', '/api/status', headers)).status).toBe(200);
    state.now += 1;
    expect((await ask('GET', '/api/status', headers)).status).toBe(403);
  });

  it('ends with the token that opened it', async () => {
    const { ask, cookie, state } = await startAdmin();
    const headers = { cookie: await cookie() };
    state.token = 'another-token-by-now';
    expect((await ask('GET', '/api/status', headers)).status).toBe(403);
    state.token = undefined;
    expect((await ask('GET', '/api/status', headers)).status).toBe(403);
  });

  it('cannot be guessed', async () => {
    const { ask, cookie } = await startAdmin();
    const given = await cookie();
    for (const made of [
      given.slice(0, -1),
      `${given.slice(0, -1)}~`,
      `${given}A`,
      `version_gateway_session=${'A'.repeat(43)}`,
    ])
      expect([made, (await ask('GET', '/api/status', { cookie: made })).status]).toEqual([made, 403]);
    expect(await cookie()).not.toBe(given);
  });

  it.each([
    ['a page of ours', { 'content-type': 'application/json', origin }, 200],
    ['the same, as https says it', { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }, 200],
    ['a form of ours', { 'content-type': 'application/x-www-form-urlencoded', origin }, 415],
    ['a page elsewhere', { 'content-type': 'application/json', origin: 'http://evil.example' }, 403],
    ['another port of this host', { 'content-type': 'application/json', origin: 'http://gateway.example' }, 403],
    ['a sibling host', { 'content-type': 'application/json', 'sec-fetch-site': 'same-site', origin }, 403],
    ['who does not say where from', { 'content-type': 'application/json' }, 403],
  ])('may send a POST from %s: %j', async (_name, headers, expected) => {
    const { ask, cookie, state } = await startAdmin();
    const { status } = await ask(
      'POST',
      '/api/reload',
      { ...headers, cookie: await cookie() } as Record<string, string>,
      '{}',
    );
    expect([status, state.reloads]).toEqual([expected, expected === 200 ? 1 : 0]);
  });

  it('is not needed with a bearer token, from any origin', async () => {
    const { ask, state } = await startAdmin();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    expect((await ask('POST', '/api/reload', headers, '{}')).status).toBe(200);
    expect(state.reloads).toBe(1);
  });

  it('ends at the logout', async () => {
    const { ask, cookie } = await startAdmin();
    const headers = { cookie: await cookie(), origin, 'content-type': 'application/json' };
    const { status, headers: answered } = await ask('POST', '/logout', headers, '{}');
    expect([status, answered['set-cookie']?.[0]]).toEqual([
      204,
      expect.stringContaining('session=; Path=/; Max-Age=0'),
    ]);
    expect((await ask('GET', '/api/status', headers)).status).toBe(403);
  });

  it('is no way for a page of another site to change something from this machine', async () => {
    const { ask, state } = await startAdmin();
    state.address = '127.0.0.1';
    state.token = undefined;
    const call = (headers: Record<string, string>) =>
      ask('POST', '/api/reload', { host: 'localhost:9901', 'content-type': 'application/json', ...headers }, '{}');
    expect((await call({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await call({ origin: 'http://evil.example' })).status).toBe(403);
    expect((await call({})).status).toBe(200);
  });
});

it('limits the number of sessions', () => {
  const sessions = new Sessions();
  const first = sessions.open(token, start);
  const second = sessions.open(token, start);
  for (let at = 0; at < 999; at += 1) sessions.open(token, start);
  expect([sessions.isValid(first, token, start), sessions.isValid(second, token, start)]).toEqual([false, true]);
});

it.each([
  ['2001:db8:0:1::9', '2001:db8:0:1:ffff::1', true],
  ['2001:db8::9', '2001:db8:0:0:1::', true],
  ['2001:db8:0:1::9', '2001:db8:0:2::9', false],
  ['10.0.0.9', '10.0.0.10', false],
  ['::ffff:10.0.0.9', '::ffff:10.0.0.10', false],
])('counts the attempts of %s and %s together: %s', (one, other, together) => {
  const attempts = new TokenAttempts();
  for (let at = 0; at < 5; at += 1) attempts.fail(one, start);
  expect(attempts.wait(other, start) > 0).toBe(together);
});

it('limits the number of addresses', () => {
  const attempts = new TokenAttempts();
  const guess = (address: string) => {
    for (let at = 0; at < 5; at += 1) attempts.fail(address, start);
  };
  guess('192.0.2.1');
  guess('192.0.2.2');
  for (let at = 0; at < 9_999; at += 1) attempts.fail(`10.0.${at >> 8}.${at & 255}`, start);
  expect([attempts.wait('192.0.2.1', start), attempts.wait('192.0.2.2', start)]).toEqual([0, 60_000]);
});

describe('the events', () => {
  it('send the access, the status and each change of it', async () => {
    const { open, cookie, state } = await startAdmin();
    const stream = await open('GET', '/api/events', { cookie: await cookie() });
    let heard = '';
    stream.setEncoding('utf8').on('data', (piece: string) => {
      heard += piece;
    });
    await eventually(() =>
      expect(heard).toMatch(/^event: access\ndata: session\n\nevent: status\ndata: \{.*"generation":1/),
    );
    expect(stream.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    state.generation = 2;
    await eventually(() => expect(heard).toContain('"generation":2'));
    await eventually(() => expect(heard).toMatch(/\n: nothing new\n\n/), 4_000);
    expect(heard.match(/event: status/g)?.length).toBe(2);
    stream.destroy();
  });

  it.each([
    ['drains', { ready: false }],
    ['lets its reader in no more', { now: start + sessionLifetime }],
  ])('end when the gateway %s', async (_name, change) => {
    const { open, cookie, state } = await startAdmin();
    const stream = await open('GET', '/api/events', { cookie: await cookie() });
    Object.assign(state, change);
    expect(await text(stream)).toContain('event: status');
  });

  it('are refused while draining, to other sites, and above the limit', async () => {
    const { open, ask, cookie, state } = await startAdmin();
    const headers = { cookie: await cookie() };
    expect((await ask('GET', '/api/events', { ...headers, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    state.ready = false;
    expect((await ask('GET', '/api/events', headers)).status).toBe(503);
    state.ready = true;
    const streams = await Promise.all(Array.from({ length: 32 }, () => open('GET', '/api/events', headers)));
    const { status, headers: answered } = await ask('GET', '/api/events', headers);
    expect([status, answered['retry-after']]).toEqual([503, '5']);
    streams[0].destroy();
    await expect
      .poll(async () => {
        const next = await open('GET', '/api/events', headers);
        next.destroy();
        return next.statusCode;
      })
      .toBe(200);
    for (const stream of streams) stream.destroy();
  });
});

it.each([
  '/assets/../app.ts',
  '/assets/%2e%2e/app.ts',
  '/assets/index.html',
  '/assets/login.html',
  '/assets/nothing.js',
])('has no file at %s', async (path) => {
  const { ask } = await startAdmin();
  expect((await ask('GET', path, { authorization: `Bearer ${token}` })).status).toBe(404);
});
