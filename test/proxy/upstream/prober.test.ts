import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createRawServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { Client } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { Registry } from '../../../gateway/proxy/upstream/registry.ts';
import type { Target } from '../../../gateway/proxy/upstream/target.ts';
import { makePair } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { ask, get } from '../../support/rawClient.ts';
import { startRecorded } from '../../usage/observability/recorded.ts';

// Only a probe without an answer reaches the time-out.
const quick = { path: '/up?deep=1', interval: '40ms', timeout: '60s', healthy_after: 2, unhealthy_after: 2 };

async function startProbed(answer: RequestListener) {
  const seen: IncomingMessage[] = [];
  const connections = new Set<object>();
  const server = createServer((req, res) => {
    seen.push(req);
    connections.add(req.socket);
    answer(req, res);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, connections };
}

function loaded(registry: Registry, routes: Readonly<Record<string, unknown>>): Target {
  const [target] = registry.poolsFor(snapshotFrom({ routes })).get('v1')?.targets ?? [];
  if (!target) throw new Error('v1 has no target');
  return target;
}

function registryOfTest(): Registry {
  const registry = new Registry();
  onTestFinished(() => registry.close());
  return registry;
}

describe('a probe', () => {
  it("requests its path with the target's Host on a new connection", async () => {
    const { url, seen, connections } = await startProbed((_req, res) => res.end('fine'));
    loaded(registryOfTest(), { '/v1': { upstream: url, health: quick } });
    await eventually(() => expect(seen.length).toBeGreaterThan(2));
    expect(connections.size).toBe(seen.length);
    expect(seen[0]).toMatchObject({ method: 'GET', url: '/up?deep=1' });
    expect(seen[0]?.headers).toMatchObject({
      host: url.replace('http://', ''),
      'user-agent': 'version-gateway-health',
    });
  });

  it.each([
    ['a 204', 'healthy', (_req, res) => res.writeHead(204).end()],
    ['a 302, which it does not follow', 'healthy', (_req, res) => res.writeHead(302, { location: '/' }).end()],
    ['a body without end', 'healthy', (_req, res) => res.writeHead(200).write('…')],
    ['a 400', 'failing', (_req, res) => res.writeHead(400).end(), /^the probe was answered 400$/],
    ['a 503', 'failing', (_req, res) => res.writeHead(503).end(), /^the probe was answered 503$/],
    ['a reset', 'failing', (req) => req.socket.resetAndDestroy(), /^the probe failed: .*ECONNRESET/],
    ['nonsense', 'failing', (req) => req.socket.end('nonsense\r\n\r\n'), /^the probe failed: \w+/],
  ] as [string, string, RequestListener, RegExp?][])(
    'that is answered with %s finds it %s',
    async (_name, state, answer, error) => {
      const { url, seen } = await startProbed(answer);
      const target = loaded(registryOfTest(), { '/v1': { upstream: url, health: quick } });
      await eventually(() => expect(seen.length).toBeGreaterThan(3));
      expect(target.report()).toMatchObject({ health: state, reachable: true });
      if (error) expect(target.report().lastError?.message).toMatch(error);
      else expect(target.report().lastError).toBeUndefined();
    },
  );

  it('that is not answered in time finds it unhealthy', async () => {
    const { url } = await startProbed(() => {});
    const target = loaded(registryOfTest(), { '/v1': { upstream: url, health: { ...quick, timeout: '250ms' } } });
    const lastError = { message: 'the probe was not answered within 250 ms' };
    await eventually(() => expect(target.report()).toMatchObject({ health: 'failing', reachable: true, lastError }));
  });

  it('notices a target that cannot be reached', async () => {
    const target = loaded(registryOfTest(), { '/v1': { upstream: await refusedUrl(), health: quick } });
    await eventually(() => expect(target.report()).toMatchObject({ health: 'failing', reachable: false }));
    expect(target.report().lastError?.message).toMatch(/^the probe failed: .*ECONNREFUSED/);
  });
});

it('a target that recovers is healthy again', async () => {
  let status = 500;
  const { url, seen } = await startProbed((_req, res) => res.writeHead(status).end());
  const target = loaded(registryOfTest(), { '/v1': { upstream: url, health: quick } });
  await eventually(() => expect(target.report()).toMatchObject({ health: 'failing', failsProbes: true }));
  status = 200;
  const before = seen.length;
  await eventually(() => expect(target.report().health).toBe('healthy'));
  expect(seen.length).toBeGreaterThanOrEqual(before + 2);
});

describe('a reload', () => {
  it('keeps the probe results of a target and probes with the new settings', async () => {
    const { url, seen } = await startProbed((_req, res) => res.writeHead(500).end());
    const registry = registryOfTest();
    const target = loaded(registry, { '/v1': { upstream: url, health: quick } });
    await eventually(() => expect(target.report().health).toBe('failing'));
    expect(loaded(registry, { '/v1': { upstream: url, health: { ...quick, path: '/other' } } })).toBe(target);
    expect(target.report().health).toBe('failing');
    await eventually(() => expect(seen.at(-1)?.url).toBe('/other'));
  });

  it('that disables probes ends them and discards their results', async () => {
    const { url } = await startProbed((_req, res) => res.writeHead(500).end());
    const registry = registryOfTest();
    const target = loaded(registry, { '/v1': { upstream: url, health: quick } });
    await eventually(() => expect(target.report().health).toBe('failing'));
    loaded(registry, { '/v1': url });
    expect(target.report().health).toBe('not tried');
  });

  it.each<[how: string, end: (registry: Registry) => void]>([
    ['that drops a target', (registry) => registry.poolsFor(snapshotFrom({ routes: { '/v1': 'http://127.0.0.1:1' } }))],
    ['never comes: the registry is closed', (registry) => registry.close()],
  ])('%s ends its probes', async (_how, end) => {
    const { url, seen } = await startProbed((_req, res) => res.end());
    const { url: other, seen: asked } = await startProbed((_req, res) => res.end());
    const registry = registryOfTest();
    loaded(registry, { '/v1': { upstream: url, health: quick } });
    await eventually(() => expect(seen.length).toBeGreaterThan(1));
    end(registry);
    // One probe may already be sent.
    const before = seen.length + 1;
    loaded(registryOfTest(), { '/v1': { upstream: other, health: quick } });
    await eventually(() => expect(asked.length).toBeGreaterThan(4));
    expect(seen.length).toBeLessThanOrEqual(before);
  });

  it('of several versions that share a target, the first with a probe path decides', async () => {
    const { url, seen } = await startProbed((_req, res) => res.end());
    loaded(registryOfTest(), {
      '/v1': url,
      '/v2': { upstream: url, health: { ...quick, path: '/second' } },
      '/v3': { upstream: url, health: { ...quick, path: '/third' } },
    });
    await eventually(() => expect(seen.length).toBeGreaterThan(2));
    expect(new Set(seen.map((req) => req.url))).toEqual(new Set(['/second']));
  });
});

/** Responses that llhttp, the parser of undici and node:http, accepts and that the gateway rejects. */
const rejected: readonly (readonly [name: string, raw: string, cause: string])[] = [
  [
    'a transfer coding that was not asked for',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    'a transfer coding other than a single chunked',
  ],
  [
    'a chunked body in HTTP/1.0',
    'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'Transfer-Encoding in HTTP/1.0',
  ],
  [
    'dozens of interim responses',
    `${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(40)}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`,
    'too many interim responses',
  ],
  ['an invalid chunk size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n', 'an invalid chunk size'],
];

describe.each(['http', 'https'])('a target behind %s whose responses the gateway rejects', (scheme) => {
  it.each(rejected)('is unhealthy: %s', async (_name, raw, cause) => {
    const folder = await mkdtemp(join(tmpdir(), 'prober-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const pair = makePair(folder, 'api.test');
    const onConnection = (socket: Socket): void => {
      socket.on('error', () => {}).once('data', () => socket.end(raw));
    };
    const server = scheme === 'http' ? createRawServer(onConnection) : createTlsServer(pair, onConnection);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;

    const lenient = new Client(url, { connect: { rejectUnauthorized: false } });
    onTestFinished(() => lenient.destroy());
    expect(await lenient.request({ method: 'GET', path: '/' })).toMatchObject({ statusCode: 200 });

    const tls = { ca: join(folder, 'api.test.made.crt'), servername: 'api.test' };
    const version = scheme === 'http' ? { upstream: url } : { upstream: url, tls };
    const { port, records } = await startRecorded({ '/v1': version });
    // A response whose head was already passed on is cut off.
    await ask(port, get('/v1/x')).catch(() => {});
    await eventually(() => expect(records).toMatchObject([{ fault: 'target', cause: expect.stringContaining(cause) }]));

    const target = loaded(registryOfTest(), { '/v1': { ...version, health: quick } });
    await eventually(() => expect(target.report()).toMatchObject({ health: 'failing', reachable: true }));
    expect(target.report().lastError?.message).toBe(`the probe failed: ${cause}`);
  });
});

describe('a probe over TLS', () => {
  it.each([
    ['healthy', 'its certificate has the expected name', { servername: 'api.test' }, true],
    ['failing', 'its certificate has another name', { servername: 'other.test' }, false],
    ['healthy', 'its certificate is not verified', { servername: 'other.test', verify: false }, true],
  ])('finds a target %s if %s', async (health, _reason, tls, reachable) => {
    const folder = await mkdtemp(join(tmpdir(), 'prober-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const pair = makePair(folder, 'api.test');
    const server = createSecureServer(pair, (_req, res) => res.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    let hellos = 0;
    server.on('connection', () => {
      hellos += 1;
    });
    const target = loaded(registryOfTest(), {
      '/v1': {
        upstream: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
        tls: { ca: join(folder, 'api.test.made.crt'), ...tls },
        health: quick,
      },
    });
    await eventually(() => expect(hellos).toBeGreaterThan(3));
    expect(target.report()).toMatchObject({ health, reachable });
  });
});
