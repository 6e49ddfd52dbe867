import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAdmin } from '../../gateway/admin/app.ts';
import { isLoopbackHost } from '../../gateway/admin/guard.ts';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { systemClock } from '../../gateway/shared/clock.ts';
import { ask as askRaw, message } from '../support/rawClient.ts';

const token = 'correct-horse-battery-staple';

interface Settings {
  readonly ready?: boolean;
  readonly token?: string;
  readonly loopback?: string;
  /** The address that the request comes from. */
  readonly from?: string;
}

/** Operations of an idle gateway; test/runtime/reload.test.ts tests those of a real one. */
const idle = {
  reload: async () => ({ kind: 'unchanged' }),
  preview: async () => ({ kind: 'unchanged' }),
  config: () => ({
    fingerprint: 'x',
    generation: 1,
    loadedAt: 0,
    trigger: 'start' as const,
    forced: [],
    lastFailure: undefined,
  }),
  report: async () => ({ versions: [], workers: [] }),
  clock: systemClock,
};

async function startAdmin({ ready = true, token, loopback, from }: Settings = {}): Promise<number> {
  const gateway = {
    ...(token !== undefined && { admin_token: token }),
    ...(loopback !== undefined && { admin_loopback: loopback }),
  };
  const current = snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:3001' }, gateway });
  const listener = createAdmin({ current }, { ready: () => ready }, idle);
  const server = createServer((req, res) => {
    if (from !== undefined) Object.defineProperty(req.socket, 'remoteAddress', { value: from });
    listener(req, res);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function ask(port: number, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const outgoing = request({ port, host: '127.0.0.1', path, method, headers, agent: false }).end();
  const [incoming] = await once(outgoing, 'response');
  return { status: incoming.statusCode, headers: incoming.headers, body: await text(incoming) };
}

describe('probes', () => {
  it('is alive while the process runs, ready or not', async () => {
    const { status, body, headers } = await ask(await startAdmin({ ready: false }), '/healthz');
    expect([status, body, headers['content-type']]).toEqual([200, 'ok', 'text/plain; charset=utf-8']);
  });

  it('is ready when the gateway is', async () => {
    const { status, body } = await ask(await startAdmin(), '/readyz');
    expect([status, JSON.parse(body)]).toEqual([200, { ready: true }]);
  });

  it('reports why it is not ready', async () => {
    const { status, body } = await ask(await startAdmin({ ready: false }), '/readyz');
    expect([status, JSON.parse(body)]).toEqual([503, { ready: false, reason: 'The gateway is starting or draining.' }]);
  });

  it.each(['/healthz', '/readyz'])('%s is open to every Host and address', async (path) => {
    expect((await ask(await startAdmin({ from: '10.0.0.9' }), path, { host: 'pod-7.example' })).status).toBe(200);
  });

  it('only accepts GET and HEAD', async () => {
    const { status, headers } = await ask(await startAdmin(), '/readyz', {}, 'POST');
    expect([status, headers['allow'], headers['content-type']]).toEqual([405, 'GET, HEAD', 'application/problem+json']);
  });
});

it.each(['/nothing', '/healthz/', '/HEALTHZ'])('has nothing at %s', async (path) => {
  const { status, headers, body } = await ask(await startAdmin(), path);
  expect([status, headers['content-type']]).toEqual([404, 'application/problem+json']);
  expect(JSON.parse(body)).toMatchObject({ status: 404, title: 'Not found', detail: expect.any(String) });
});

it.each(['/healthz', '/readyz', '/nothing'])(
  '%s may not be cached, sniffed or framed, and does not name Express',
  async (path) => {
    const { headers } = await ask(await startAdmin(), path);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    });
    expect(headers).not.toHaveProperty('x-powered-by');
  },
);

// 404 means admitted: there is nothing at this path behind the guard.
describe('requests that are admitted', () => {
  const bearer = { authorization: `Bearer ${token}` };

  it.each([
    ['a loopback name from this machine', {}, { host: 'localhost:9901' }, 404],
    ['the same, where that is said to be enough', { token, loopback: 'open' }, { host: '127.0.0.1' }, 404],
    ['the token from this machine', { token }, { host: '127.0.0.1:9901', ...bearer }, 404],
    // A proxy on this machine in its default configuration sends this for every client.
    ['a loopback name from this machine, though a token is set', { token }, { host: '127.0.0.1:9901' }, 403],
    ['a rebound name, though loopback is enough', { token, loopback: 'open' }, { host: 'evil.example' }, 403],
    [
      'a loopback name from elsewhere, though loopback is enough',
      { token, loopback: 'open', from: '10.0.0.9' },
      { host: 'localhost' },
      403,
    ],
    ['what was passed on, without a token', {}, { host: 'localhost', 'x-forwarded-for': '192.0.2.7' }, 403],
    [
      'what was passed on, though loopback is enough',
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
    ['a token where none is set', {}, { host: 'gw.example', ...bearer }, 403],
    ['an empty token where none is set', {}, { host: 'gw.example', authorization: 'Bearer ' }, 403],
  ])('%s', async (_name, settings, headers, expected) => {
    const { status, headers: answered } = await ask(
      await startAdmin(settings),
      '/nothing',
      headers as Record<string, string>,
    );
    expect([status, answered['content-type']]).toEqual([expected, 'application/problem+json']);
  });

  it.each([
    ['GET', '/'],
    ['GET', '/api/usage'],
    ['POST', '/api/reload'],
  ])('do not include %s %s behind nginx with its default proxy_pass', async (method, path) => {
    // It sends the upstream's name as Host, adds no forwarding field, and uses HTTP/1.0.
    const port = await startAdmin({ token });
    const json = ['Content-Type: application/json', 'Content-Length: 2'];
    const fields = [`Host: 127.0.0.1:${port}`, 'Connection: close', ...(method === 'POST' ? json : [])];
    const { status } = await askRaw(
      port,
      `${message(`${method} ${path} HTTP/1.0`, ...fields)}${method === 'POST' ? '{}' : ''}`,
    );
    expect(status).toBe(path === '/' ? 303 : 403);
  });

  it('explains a refusal, with and without a token', async () => {
    const detail = async (settings: Settings): Promise<string> =>
      JSON.parse((await ask(await startAdmin(settings), '/api/status', { host: 'gw.example' })).body).detail;
    expect(await detail({ token })).toBe('Send gateway.admin_token as a bearer token.');
    expect(await detail({})).toMatch(/^Call from this machine by a loopback name, not through a proxy\./);
  });

  it.each(['/', '/api/status', '/api/usage', '/metrics', '/healthz', '/login'])(
    'nobody with two Host fields at %s',
    async (path) => {
      for (const settings of [{}, { token }]) {
        const port = await startAdmin(settings);
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
  ])('Host %s is loopback: %s', (host, expected) => {
    expect(isLoopbackHost(host)).toBe(expected);
  });
});
