import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../config/temporary.ts';
import { type Answer, answer, type Backend, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { ask, connectTo, get, message } from '../../support/rawClient.ts';
import { singleValueOf, valuesOf } from '../../support/response.ts';
import { type Collector, type SeenSpan, startCollector } from './collector.ts';
import { type ExportingGateway, startExporting } from './exporting.ts';

const trace = '0af7651916cd43dd8448eb211c80319c';
const parent = 'b7ad6b7169203331';
const sampledParent = `traceparent: 00-${trace}-${parent}-01`;

interface Scene {
  readonly collector: Collector;
  readonly backend: Backend;
  readonly gateway: ExportingGateway;
  /** The server span, then its attempts. Waits for `servers` server spans, then stops the gateway. */
  exported(servers?: number): Promise<[SeenSpan, ...SeenSpan[]]>;
}

async function start(
  script?: Answer,
  { sample = '100%', routes = (url: string): object => ({ '/v1': url }), more = {} } = {},
): Promise<Scene> {
  const [collector, backend] = [await startCollector(), await startBackend(script)];
  const telemetry = { otlp: collector.url, sample };
  const gateway = await startExporting(routes(backend.url) as Record<string, unknown>, telemetry, more);
  const exported = async (servers = 1) => {
    const found = () => collector.spans.filter(({ kind }) => kind === 'SPAN_KIND_SERVER');
    await eventually(() => expect(found()).toHaveLength(servers));
    await gateway.close();
    expect(gateway.notices.filter((line) => line.startsWith('telemetry'))).toEqual([]);
    return collector.spans as [SeenSpan, ...SeenSpan[]];
  };
  return { collector, backend, gateway, exported };
}

describe('an exchange', () => {
  it('is a server span, and a client span that the spans of the backend continue', async () => {
    const before = BigInt(Date.now()) * 1_000_000n;
    const { backend, gateway, collector, exported } = await start();
    const answered = await ask(gateway.port, get('/v1/drinks/7?size=2', 'User-Agent: shop/2'));
    expect(answered.status).toBe(200);
    const [server, client, ...more] = await exported();
    expect(more).toEqual([]);
    expect(server).toMatchObject({
      name: 'GET /v1/drinks/{}',
      kind: 'SPAN_KIND_SERVER',
      parentSpanId: '',
      status: { code: 'STATUS_CODE_UNSET' },
      resource: { 'service.name': 'version-gateway', 'service.version': '0.1.0' },
    });
    expect(server.attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'http.route': '/v1/drinks/{}',
      'url.scheme': 'http',
      'url.path': '/v1/drinks/7',
      'server.address': 'api.test',
      'server.port': 80,
      'client.address': '127.0.0.0/24',
      'network.protocol.version': '1.1',
      'user_agent.original': 'shop/2',
      'version_gateway.version': 'v1',
      'version_gateway.stage': 'active',
    });
    expect(client).toMatchObject({
      name: 'GET',
      kind: 'SPAN_KIND_CLIENT',
      traceId: server.traceId,
      parentSpanId: server.spanId,
      status: { code: 'STATUS_CODE_UNSET' },
    });
    expect(client?.attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'url.full': `${backend.url}/drinks/7`,
      'server.address': '127.0.0.1',
      'server.port': backend.port,
      'network.protocol.version': '1.1',
      'version_gateway.version': 'v1',
      'version_gateway.stage': 'active',
    });
    expect(valuesOf(backend.request, 'traceparent')).toEqual([`00-${server.traceId}-${client?.spanId}-01`]);
    expect(server.start).toBeGreaterThanOrEqual(before);
    expect(client?.start).toBeGreaterThanOrEqual(server.start);
    expect(client?.end).toBeGreaterThan(client?.start ?? 0n);
    expect(server.end).toBeGreaterThanOrEqual(client?.end ?? server.end + 1n);
    expect(collector.exports.map(({ path }) => path)).toEqual(['/v1/traces']);
    expect(collector.exports[0]?.headers['content-type']).toBe('application/x-protobuf');
  });

  it('is named after the route in the contract', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'openapi.yaml');
    const paths = { '/drinks/{id}': { get: { responses: { 200: { description: 'ok' } } } } };
    writeFileSync(file, JSON.stringify({ openapi: '3.1.0', info: { title: 'x', version: '1' }, paths }));
    const { gateway, exported } = await start(undefined, {
      routes: (url) => ({ '/v1': { upstream: url, contract: { file } } }),
      more: { gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', base_path: '/api' } },
    });
    await ask(gateway.port, get('/api/v1/drinks/mojito'));
    const [server] = await exported();
    expect([server.name, server.attributes['http.route']]).toEqual(['GET /api/v1/drinks/{id}', '/api/v1/drinks/{id}']);
  });

  it('with an unusual method has a name and attributes of few values', async () => {
    const { gateway, exported } = await start();
    await ask(gateway.port, message('PROPFIND /v1/x HTTP/1.1', 'Host: api.test'));
    const [server, client] = await exported();
    expect([server.name, client?.name]).toEqual(['HTTP /v1/x', 'HTTP']);
    const method = { 'http.request.method': '_OTHER', 'http.request.method_original': 'PROPFIND' };
    expect([server.attributes, client?.attributes]).toMatchObject([method, method]);
  });
});

describe('the trace of a client', () => {
  it('is continued if it is sampled, whatever the share of new traces', async () => {
    const { backend, gateway, exported } = await start(undefined, { sample: '0%' });
    await ask(gateway.port, get('/v1/x', sampledParent, 'tracestate: a=1,b=2'));
    const [server, client] = await exported();
    expect(server).toMatchObject({ traceId: trace, parentSpanId: parent, traceState: 'a=1,b=2' });
    expect(client).toMatchObject({ traceId: trace, parentSpanId: server.spanId, traceState: 'a=1,b=2' });
    // 0x100: it is known whether the parent is remote. 0x200: it is.
    expect([server.flags, client?.flags]).toEqual([0x301, 0x101]);
    expect(singleValueOf(backend.request, 'traceparent')).toBe(`00-${trace}-${client?.spanId}-01`);
    expect(singleValueOf(backend.request, 'tracestate')).toBe('a=1,b=2');
  });

  it('is passed on unchanged, without spans, if it is not sampled', async () => {
    const { backend, gateway, collector } = await start();
    const fields = [`traceparent: 00-${trace}-${parent}-00`, 'tracestate: a=1'];
    await ask(gateway.port, get('/v1/x', ...fields));
    expect(backend.request.lines).toEqual(expect.arrayContaining(fields));
    await gateway.close();
    expect(collector.exports).toEqual([]);
  });

  it('that is missing is not sampled beyond the share', async () => {
    const { backend, gateway, collector } = await start(undefined, { sample: '0%' });
    await ask(gateway.port, get('/v1/x'));
    expect(singleValueOf(backend.request, 'traceparent')).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    await gateway.close();
    expect(collector.exports).toEqual([]);
  });
});

describe('attempts', () => {
  it('have a span each, and the last one is the parent in the backend', async () => {
    const dead = await refusedUrl();
    const { backend, gateway, exported } = await start(undefined, {
      routes: (url) => ({ '/v1': { upstream: [dead, url] } }),
    });
    // One of two requests begins with the target that is down.
    await ask(gateway.port, get('/v1/x'));
    await ask(gateway.port, get('/v1/x'));
    const spans = await exported(2);
    const failed = spans.find(({ attributes }) => attributes['error.type'] === 'unreachable');
    const again = spans.find(({ attributes }) => attributes['http.request.resend_count'] === 1);
    expect(failed).toMatchObject({
      kind: 'SPAN_KIND_CLIENT',
      status: { code: 'STATUS_CODE_ERROR', message: expect.stringContaining('ECONNREFUSED') },
      attributes: { 'url.full': `${dead}/x` },
    });
    expect(failed?.attributes).not.toHaveProperty('http.request.resend_count');
    expect(failed?.attributes).not.toHaveProperty('http.response.status_code');
    expect(again).toMatchObject({
      parentSpanId: failed?.parentSpanId,
      status: { code: 'STATUS_CODE_UNSET' },
      attributes: { 'url.full': `${backend.url}/x`, 'http.response.status_code': 200 },
    });
    expect(again?.start).toBeGreaterThanOrEqual(failed?.end ?? 0n);
    const sent = backend.requests.map((request) => singleValueOf(request, 'traceparent'));
    expect(sent).toContain(`00-${again?.traceId}-${again?.spanId}-01`);
  });

  it('that all fail are a failed server span with the code of the problem', async () => {
    const dead = await refusedUrl();
    const { gateway, exported } = await start(undefined, { routes: () => ({ '/v1': dead }) });
    expect((await ask(gateway.port, get('/v1/x'))).status).toBe(502);
    const [server, ...attempts] = await exported();
    expect(server).toMatchObject({
      status: { code: 'STATUS_CODE_ERROR' },
      attributes: { 'http.response.status_code': 502, 'error.type': 'TARGET_REFUSED' },
    });
    expect(attempts.length).toBeGreaterThan(0);
  });

  it('with an error status are failed, a 4xx only for the client span', async () => {
    const { gateway, exported } = await start(answer(404, 'no'));
    await ask(gateway.port, get('/v1/x'));
    const [server, client] = await exported();
    expect(server.status.code).toBe('STATUS_CODE_UNSET');
    expect(server.attributes).not.toHaveProperty('error.type');
    expect(client).toMatchObject({ status: { code: 'STATUS_CODE_ERROR' }, attributes: { 'error.type': '404' } });
  });

  it('end when the client leaves', async () => {
    const { backend, gateway, exported } = await start([]);
    const client = await connectTo(gateway.port);
    client.send(get('/v1/x'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    client.socket.destroy();
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
    const [server, attempt] = await exported();
    expect(server.attributes).toMatchObject({ 'error.type': 'client_disconnected' });
    expect(server.attributes).not.toHaveProperty('http.response.status_code');
    expect(attempt?.attributes).toMatchObject({ 'error.type': 'cancelled' });
  });
});

it('a retired version has a server span with its stage and its successor', async () => {
  const { gateway, exported } = await start(undefined, {
    routes: (url) => ({ '/v1': { retired: true }, '/v2': url }),
  });
  expect((await ask(gateway.port, get('/v1/drinks'))).status).toBe(410);
  const [server, ...attempts] = await exported();
  expect(attempts).toEqual([]);
  expect(server).toMatchObject({
    name: 'GET /v1/drinks',
    attributes: {
      'http.response.status_code': 410,
      'version_gateway.version': 'v1',
      'version_gateway.stage': 'retired',
      'version_gateway.successor': 'v2',
    },
  });
});

it('what a client sends takes a limited part of a span', async () => {
  const { backend, gateway, exported } = await start();
  const state = `a=${'1'.repeat(1_000)}`;
  const long = 'x'.repeat(4_000);
  await ask(gateway.port, get(`/v1/${long}`, `User-Agent: ${long}`, sampledParent, `tracestate: ${state}`));
  const [server, client] = await exported();
  expect(server.attributes).toMatchObject({
    'url.path': `/v1/${'x'.repeat(1_020)}`,
    'user_agent.original': 'x'.repeat(1_024),
  });
  expect(String(client?.attributes['url.full']).length).toBeLessThan(1_100);
  expect(server.traceState).toBe('');
  expect(singleValueOf(backend.request, 'tracestate')).toBe(state);
});

it('a long query is left out as a whole', async () => {
  const { backend, gateway, exported } = await start(undefined, { more: { log: { query: true } } });
  await ask(gateway.port, get(`/v1/x?next=https://ann:s3cret${'x'.repeat(1_000)}@host/`));
  const [server, client] = await exported();
  expect(server.attributes).not.toHaveProperty('url.query');
  expect(client?.attributes['url.full']).toBe(`${backend.url}/x`);
});

it('an IPv6 address has no brackets', async () => {
  const { gateway, exported } = await start();
  await ask(gateway.port, message('GET /v1/x HTTP/1.1', 'Host: [::1]:8080'));
  const [server] = await exported();
  expect(server.attributes).toMatchObject({ 'server.address': '::1', 'server.port': 8080 });
});

it('a path without a version has a span without a route', async () => {
  const { gateway, exported } = await start();
  expect((await ask(gateway.port, get('/elsewhere'))).status).toBe(404);
  const [server] = await exported();
  expect(server.name).toBe('GET');
  expect(Object.keys(server.attributes)).not.toContain('http.route');
});

it('an upgraded connection has spans from its request to its end', async () => {
  const upgrading = ['Connection: Upgrade', 'Upgrade: chat/2'];
  const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat/2\r\n\r\n';
  const { gateway, exported, collector } = await start([
    { write: switching },
    { take: (socket, early) => void socket.on('data', (data: Buffer) => socket.write(data)).write(`hello ${early}`) },
  ]);
  const client = await connectTo(gateway.port);
  client.send(get('/v1/chat', ...upgrading));
  await eventually(() => expect(client.pending).toContain('hello'));
  expect(collector.spans).toEqual([]);
  client.reset();
  const [server, attempt] = await exported();
  const switched = { 'http.response.status_code': 101 };
  expect([server.attributes, attempt?.attributes]).toMatchObject([switched, switched]);
  expect(server.attributes).not.toHaveProperty('error.type');
});

describe('spans hide what the access log hides', () => {
  const target = '/v1/x;jsessionid=abc?token=s3cret&size=2';

  it('the query, values of secrets in the path, and the last part of the address', async () => {
    const { gateway, exported } = await start();
    await ask(gateway.port, get(target));
    const spans = await exported();
    expect(spans[0].attributes).toMatchObject({ 'url.path': '/v1/x;jsessionid=***', 'client.address': '127.0.0.0/24' });
    const text = JSON.stringify(spans, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    expect(text).not.toMatch(/s3cret|=abc|size=2/);
  });

  it('less with log.query and log.address', async () => {
    const { gateway, exported, backend } = await start(undefined, { more: { log: { query: true, address: 'full' } } });
    await ask(gateway.port, get(target));
    const [server, client] = await exported();
    expect(server.attributes).toMatchObject({ 'url.query': 'token=***&size=2', 'client.address': '127.0.0.1' });
    expect(client?.attributes['url.full']).toBe(`${backend.url}/x;jsessionid=***?token=***&size=2`);
  });

  it('the whole address', async () => {
    const { gateway, exported } = await start(undefined, { more: { log: { address: 'none' } } });
    await ask(gateway.port, get(target));
    expect(Object.keys((await exported())[0].attributes)).not.toContain('client.address');
  });
});
