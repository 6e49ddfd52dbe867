import { describe, expect, it } from 'vitest';
import { startRemoteAdmin, token } from '../remoteAdmin.ts';

describe('without a token', () => {
  it.each(['/', '/login', '/assets/style.css'])('%s is refused for other host names', async (path) => {
    const { ask, state } = await startRemoteAdmin();
    state.token = undefined;
    expect((await ask('GET', path)).status).toBe(403);
  });
});

describe('a browser that is not logged in', () => {
  it('is redirected to the login form', async () => {
    const { ask } = await startRemoteAdmin();
    const { status, headers } = await ask('GET', '/');
    expect([status, headers['location']]).toEqual([303, '/login']);
    for (const path of ['/api/status', '/api/events', '/assets/main.js', '/api/usage', '/metrics'])
      expect([path, (await ask('GET', path)).status]).toEqual([path, 403]);
  });

  it('gets a form without scripts, and a policy that forbids them', async () => {
    const { ask } = await startRemoteAdmin();
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
    const { logIn } = await startRemoteAdmin();
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
  ])('that sends %o is answered %i', async (headers, expected) => {
    const { logIn } = await startRemoteAdmin();
    expect((await logIn(token, headers)).status).toBe(expected);
  });

  it('cannot send a form that is too long', async () => {
    const { logIn } = await startRemoteAdmin();
    expect((await logIn('x'.repeat(5_000))).status).toBe(413);
  });
});

it.each([
  '/assets/../app.ts',
  '/assets/%2e%2e/app.ts',
  '/assets/index.html',
  '/assets/login.html',
  '/assets/nothing.js',
])('answers 404 at %s', async (path) => {
  const { ask } = await startRemoteAdmin();
  expect((await ask('GET', path, { authorization: `Bearer ${token}` })).status).toBe(404);
});
