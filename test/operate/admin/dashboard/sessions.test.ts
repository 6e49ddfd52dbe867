import { describe, expect, it } from 'vitest';
import { Sessions, sessionLifetimeMs } from '../../../../gateway/operate/admin/dashboard/sessions.ts';
import { host, origin, start, startRemoteAdmin, token } from '../remoteAdmin.ts';

describe('a session', () => {
  it('is a cookie that scripts and other sites cannot read', async () => {
    const { logIn } = await startRemoteAdmin();
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
    const { logIn } = await startRemoteAdmin();
    expect((await logIn(token, headers)).headers['set-cookie']?.[0]).toMatch(/; Secure$/);
  });

  it('is valid under any host name, for eight hours', async () => {
    const { ask, cookie, state } = await startRemoteAdmin();
    const headers = { cookie: `theme=dark; ${await cookie()}` };
    expect((await ask('GET', '/', headers)).status).toBe(200);
    state.now += sessionLifetimeMs - 1;
    expect((await ask('GET', '/api/status', headers)).status).toBe(200);
    state.now += 1;
    expect((await ask('GET', '/api/status', headers)).status).toBe(403);
  });

  it('ends with the token that opened it', async () => {
    const { ask, cookie, state } = await startRemoteAdmin();
    const headers = { cookie: await cookie() };
    state.token = 'another-token-by-now';
    expect((await ask('GET', '/api/status', headers)).status).toBe(403);
    state.token = undefined;
    expect((await ask('GET', '/api/status', headers)).status).toBe(403);
  });

  it('cannot be guessed', async () => {
    const { ask, cookie } = await startRemoteAdmin();
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
    ['a page of the dashboard', { 'content-type': 'application/json', origin }, 200],
    ['the same, with Sec-Fetch-Site', { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }, 200],
    ['a form of the dashboard', { 'content-type': 'application/x-www-form-urlencoded', origin }, 415],
    ['a page of another origin', { 'content-type': 'application/json', origin: 'http://evil.example' }, 403],
    ['another port of this host', { 'content-type': 'application/json', origin: 'http://gateway.example' }, 403],
    ['a sibling host', { 'content-type': 'application/json', 'sec-fetch-site': 'same-site', origin }, 403],
    ['a client without Origin', { 'content-type': 'application/json' }, 403],
  ])('a POST from $0 is answered $2', async (_name, headers, expected) => {
    const { ask, cookie, state } = await startRemoteAdmin();
    const { status } = await ask(
      'POST',
      '/api/reload',
      { ...headers, cookie: await cookie() } as Record<string, string>,
      '{}',
    );
    expect([status, state.reloads]).toEqual([expected, expected === 200 ? 1 : 0]);
  });

  it('is not needed with a bearer token, from any origin', async () => {
    const { ask, state } = await startRemoteAdmin();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    expect((await ask('POST', '/api/reload', headers, '{}')).status).toBe(200);
    expect(state.reloads).toBe(1);
  });

  it('ends at the logout', async () => {
    const { ask, cookie } = await startRemoteAdmin();
    const headers = { cookie: await cookie(), origin, 'content-type': 'application/json' };
    const { status, headers: answered } = await ask('POST', '/logout', headers, '{}');
    expect([status, answered['set-cookie']?.[0]]).toEqual([
      204,
      expect.stringContaining('session=; Path=/; Max-Age=0'),
    ]);
    expect((await ask('GET', '/api/status', headers)).status).toBe(403);
  });

  it('is also not needed on this machine, but pages of other sites are refused', async () => {
    const { ask, state } = await startRemoteAdmin();
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
