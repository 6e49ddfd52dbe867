import { describe, expect, it } from 'vitest';
import { TokenAttempts } from '../../../gateway/operate/admin/guard.ts';
import { start, startRemoteAdmin, token } from './remoteAdmin.ts';

describe('a browser that is not logged in', () => {
  it('must wait after five wrong tokens within a minute, even with the right one', async () => {
    const { logIn, state } = await startRemoteAdmin();
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
    const { logIn, state } = await startRemoteAdmin();
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
    const { logIn, state } = await startRemoteAdmin();
    state.proxies = ['10.0.0.0/24'];
    for (let attempt = 0; attempt < 5; attempt += 1)
      await logIn('wrong', { 'x-forwarded-for': `nobody-${attempt}-${'x'.repeat(1_000)}` });
    expect((await logIn(token, { 'x-forwarded-for': 'nobody-at-all' })).status).toBe(429);
  });
});

describe('a bearer token', () => {
  const bearer = (given: string) => ({ authorization: `Bearer ${given}` });

  it('is refused for a while after five wrong ones in a minute, even the right one', async () => {
    const { ask, state } = await startRemoteAdmin();
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

  it('that was right once is admitted despite wrong ones from the same address', async () => {
    const { ask, state } = await startRemoteAdmin();
    expect((await ask('GET', '/metrics', bearer(token))).status).toBe(200);
    for (let attempt = 0; attempt < 20; attempt += 1) await ask('GET', '/metrics', bearer('wrong'));
    expect((await ask('GET', '/metrics', bearer('wrong'))).status).toBe(429);
    expect((await ask('GET', '/metrics', bearer(token))).status).toBe(200);
    state.token = 'another-token-by-now';
    expect((await ask('GET', '/metrics', bearer(state.token))).status).toBe(429);
  });

  it('shares its count of wrong tokens with the login form', async () => {
    const { ask, logIn } = await startRemoteAdmin();
    for (let attempt = 0; attempt < 3; attempt += 1) await ask('GET', '/api/status', bearer('wrong'));
    for (let attempt = 0; attempt < 2; attempt += 1) expect((await logIn('wrong')).status).toBe(401);
    expect((await logIn('wrong')).status).toBe(429);
  });

  it('does not lock out sessions and this machine', async () => {
    const { ask, cookie } = await startRemoteAdmin();
    const headers = { cookie: await cookie(), ...bearer('stale') };
    for (let attempt = 0; attempt < 9; attempt += 1)
      expect((await ask('GET', '/api/status', headers)).status).toBe(200);
  });
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
  expect(attempts.waitMs(other, start) > 0).toBe(together);
});

it('limits the number of addresses', () => {
  const attempts = new TokenAttempts();
  const guess = (address: string) => {
    for (let at = 0; at < 5; at += 1) attempts.fail(address, start);
  };
  guess('192.0.2.1');
  guess('192.0.2.2');
  for (let at = 0; at < 9_999; at += 1) attempts.fail(`10.0.${at >> 8}.${at & 255}`, start);
  expect([attempts.waitMs('192.0.2.1', start), attempts.waitMs('192.0.2.2', start)]).toEqual([0, 60_000]);
});
