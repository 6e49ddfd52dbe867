import { describe, expect, it } from 'vitest';
import { isLoopbackHost } from '../../../gateway/operate/admin/guard.ts';
import { ask as askRaw, message } from '../../support/rawClient.ts';
import { ask, type IdleSettings, startIdleAdmin, token } from './idleAdmin.ts';

// 404 means admitted: the path does not exist, and the guard comes first.
describe('the guard', () => {
  const bearer = { authorization: `Bearer ${token}` };

  it.each([
    ['a loopback name from this machine', {}, { host: 'localhost:9901' }, 404],
    ['the same with `admin_loopback: open`', { token, loopback: 'open' }, { host: '127.0.0.1' }, 404],
    ['the token from this machine', { token }, { host: '127.0.0.1:9901', ...bearer }, 404],
    // A proxy on this machine in its default configuration sends this for every client.
    ['a loopback name from this machine if a token is set', { token }, { host: '127.0.0.1:9901' }, 403],
    ['a rebound name with `admin_loopback: open`', { token, loopback: 'open' }, { host: 'evil.example' }, 403],
    [
      'a loopback name from elsewhere with `admin_loopback: open`',
      { token, loopback: 'open', from: '10.0.0.9' },
      { host: 'localhost' },
      403,
    ],
    ['a forwarded request without a token', {}, { host: 'localhost', 'x-forwarded-for': '192.0.2.7' }, 403],
    [
      'a forwarded request with `admin_loopback: open`',
      { token, loopback: 'open' },
      { host: 'localhost', via: '1.1 nginx' },
      403,
    ],
    ['IPv6 loopback', { from: '::1' }, { host: '[::1]:9901' }, 404],
    ['IPv4 in IPv6', { from: '::ffff:127.0.0.1' }, { host: 'localhost' }, 404],
    ['the token under any name', { token }, { host: 'gw.example', ...bearer }, 404],
    ['the token from anywhere', { token, from: '10.0.0.9' }, { host: 'gw.example', ...bearer }, 404],
    ['a rebound name from this machine', {}, { host: 'evil.example' }, 403],
    ['a loopback name from elsewhere', { token, from: '10.0.0.9' }, { host: 'localhost' }, 403],
    ['a wrong token', { token }, { host: 'gw.example', authorization: `Bearer ${token}x` }, 403],
    ['another scheme', { token }, { host: 'gw.example', authorization: `Basic ${token}` }, 403],
    ['a token if none is set', {}, { host: 'gw.example', ...bearer }, 403],
    ['an empty token if none is set', {}, { host: 'gw.example', authorization: 'Bearer ' }, 403],
  ])('answers $3 to $0', async (_name, settings, headers, expected) => {
    const { status, headers: answered } = await ask(
      await startIdleAdmin(settings),
      '/nothing',
      headers as Record<string, string>,
    );
    expect([status, answered['content-type']]).toEqual([expected, 'application/problem+json']);
  });

  it.each([
    ['GET', '/'],
    ['GET', '/api/usage'],
    ['POST', '/api/reload'],
  ])('does not admit %s %s behind nginx with its default proxy_pass', async (method, path) => {
    // It sends the upstream's name as Host, adds no forwarding field, and uses HTTP/1.0.
    const port = await startIdleAdmin({ token });
    const json = ['Content-Type: application/json', 'Content-Length: 2'];
    const fields = [`Host: 127.0.0.1:${port}`, 'Connection: close', ...(method === 'POST' ? json : [])];
    const { status } = await askRaw(
      port,
      `${message(`${method} ${path} HTTP/1.0`, ...fields)}${method === 'POST' ? '{}' : ''}`,
    );
    expect(status).toBe(path === '/' ? 303 : 403);
  });

  it('explains a refusal, with and without a token', async () => {
    const detail = async (settings: IdleSettings): Promise<string> =>
      JSON.parse((await ask(await startIdleAdmin(settings), '/api/status', { host: 'gw.example' })).body).detail;
    expect(await detail({ token })).toBe('Send gateway.admin_token as a bearer token.');
    expect(await detail({})).toMatch(/^Call from this machine by a loopback name, not through a proxy\./);
  });

  it.each(['/', '/api/status', '/api/usage', '/metrics', '/healthz', '/login'])(
    'answers 400 to two Host fields at %s',
    async (path) => {
      for (const settings of [{}, { token }]) {
        const port = await startIdleAdmin(settings);
        const fields = ['Host: localhost', 'Host: evil.example', `Authorization: Bearer ${token}`];
        const response = await askRaw(port, message(`GET ${path} HTTP/1.1`, ...fields));
        expect([response.status, JSON.parse(response.body).detail]).toEqual([
          400,
          'A request has exactly one Host field.',
        ]);
      }
    },
  );

  it.each([
    ['localhost', true],
    ['LOCALHOST:9901', true],
    ['127.1.2.3:1', true],
    ['[::1]', true],
    ['localhost.evil.example', false],
    ['127.0.0.1.evil.example', false],
    ['127.0.0.1@evil.example', false],
    ['evil.example:127', false],
    ['0.0.0.0', false],
    ['::1', false],
    ['', false],
    [undefined, false],
  ])('regards the Host %s as loopback: %s', (host, expected) => {
    expect(isLoopbackHost(host)).toBe(expected);
  });
});
