import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createVersionGateway } from '../../gateway/index.ts';
import { type Answer, answer, startBackend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, chunked, connectTo, get, message, post } from '../support/rawClient.ts';
import { singleValueOf, valuesOf } from '../support/response.ts';

const upgrade = get('/v1/ws', 'Connection: Upgrade', 'Upgrade: websocket');
const slowly: Answer = (request) => [{ wait: 100 }, { write: answer(200, request.target) }];

/** A gateway with a deprecated version: standalone, or embedded in another server. */
async function start(script: Answer, kind: 'standalone' | 'embedded', settings: Record<string, unknown> = {}) {
  const backend = await startBackend(script);
  const routes = { '/v1': { upstream: backend.url, deprecation: '2026-06-30' }, '/v2': backend.url };
  if (kind === 'standalone') return { backend, port: (await startTestGateway(routes, { gateway: settings })).port };
  const gateway = createVersionGateway({ routes });
  const server = createServer(gateway as RequestListener).on('upgrade', gateway.upgrade);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close(gateway.close);
  });
  return { backend, port: (server.address() as AddressInfo).port };
}

describe.each(['standalone', 'embedded'] as const)('one client cannot bring down the %s gateway', (kind) => {
  it('with an upgrade after a request in flight', async () => {
    const { port } = await start(slowly, kind);
    const client = await connectTo(port);
    client.send(get('/v1/slow') + upgrade);
    expect((await client.response()).body).toBe('/slow');
    expect((await client.response()).body).toBe('/ws');
    await client.closed();
    expect((await ask(port, get('/v1/alive'))).status).toBe(200);
  });

  it('with a DELETE that overtakes a GET', async () => {
    const { backend, port } = await start(slowly, kind);
    const client = await connectTo(port);
    client.send(get('/v1/slow') + message('DELETE /v1/x HTTP/1.1', 'Host: a'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    expect((await client.response()).body).toBe('/slow');
    expect((await client.response('DELETE')).body).toBe('/x');
    expect(backend.requests.map((request) => request.method)).toEqual(['GET', 'DELETE']);
  });

  it('an upgrade to an unknown path is answered', async () => {
    const { port } = await start(slowly, kind);
    const response = await ask(port, get('/unknown', 'Connection: Upgrade', 'Upgrade: websocket'));
    expectProblem(response, 404);
  });
});

it('a CONNECT after a request in flight waits until that is answered', async () => {
  const { port } = await start(slowly, 'standalone');
  const client = await connectTo(port);
  client.send(get('/v1/slow') + message('CONNECT a:443 HTTP/1.1', 'Host: a:443'));
  expect((await client.response()).body).toBe('/slow');
  expectProblem(await client.response('CONNECT'), 405);
});

describe('a client that disconnects during an upgrade', () => {
  it.each([
    ['before the backend answers', [] as const],
    ['before the backend switches', [{ wait: 300 }, { write: 'HTTP/1.1 101 Switching Protocols\r\n\r\n' }] as const],
  ])('%s ends the connection to the backend as well', async (_when, steps) => {
    const { backend, port } = await start([...steps], 'standalone');
    const client = await connectTo(port);
    client.send(upgrade);
    await eventually(() => expect(backend.requests).toHaveLength(1));
    client.end();
    await eventually(() => expect(backend.connections.every((one) => one.closed !== 'open')).toBe(true));
    await client.closed();
  });
});

// RFC 9110 §6.6.2: Trailer announces fields after a chunked body, and these responses have none.
describe('a Trailer field in a response without a body', () => {
  const head = (status: string) => `HTTP/1.1 ${status}\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n`;

  it.each([
    ['HEAD', '200 OK'],
    ['GET', '304 Not Modified'],
    ['GET', '204 No Content'],
  ])('in answer to %s, with %s, is dropped', async (method, status) => {
    const { port } = await start(head(status), 'standalone');
    const response = await ask(port, message(`${method} /v1/x HTTP/1.1`, 'Host: a'), method);
    expect([response.status, singleValueOf(response, 'trailer')]).toEqual([Number(status.slice(0, 3)), undefined]);
    expect((await ask(port, message(`${method} /v1/x HTTP/1.1`, 'Host: a'), method)).status).toBe(response.status);
  });
});

it('trailers cannot repeat the lifecycle fields of the head', async () => {
  const body =
    '2\r\nok\r\n0\r\nDeprecation: true\r\nSunset: x\r\nLink: </>; rel="successor-version"\r\nX-Own: 1\r\n\r\n';
  const { port } = await start(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`, 'standalone');
  const response = await ask(port, get('/v1/x'));
  expect(response.trailers.map(([name]) => name)).toEqual(['X-Own']);
});

it('a malformed body is refused, with the lifecycle fields of the version', async () => {
  const { backend, port } = await start([], 'standalone');
  const client = await connectTo(port);
  client.send(chunked('/v1/x', '2\r\nab\r\n', 'Origin: https://a.example'));
  await eventually(() => expect(backend.bytes).toContain('ab'));
  client.send('ZZ\r\n');
  const response = await client.response();
  expectProblem(response, 400);
  expect(valuesOf(response, 'deprecation')).toEqual(['@1782777600']);
  expect(singleValueOf(response, 'access-control-allow-origin')).toBe('*');
  await client.closed();
});

describe('pipelined requests after a slow one', () => {
  it('are all answered, even hundreds of them', async () => {
    const { port } = await start(slowly, 'standalone', {});
    const client = await connectTo(port);
    client.send(get('/v1/slow') + get('/v9/x').repeat(900));
    expect((await client.response()).body).toBe('/slow');
    for (let count = 0; count < 900; count += 1) expect((await client.response()).status).toBe(404);
  });

  it('are answered up to the one that is refused, and the connection ends with it', async () => {
    const { backend, port } = await start(slowly, 'standalone', {});
    const client = await connectTo(port);
    client.send(get('/v1/a') + get('/v1/b') + get('/v1/c', 'Host: twice') + get('/v1/never'));
    expect((await client.response()).body).toBe('/a');
    expect((await client.response()).body).toBe('/b');
    expectProblem(await client.response(), 400);
    expect((await client.closed()).leftover).toBe('');
    expect(backend.requests.map((request) => request.target)).toEqual(['/a', '/b']);
  });

  // A standalone gateway stops reading instead: see pipelinedFlood.test.ts.
  it('are cut off in an embedded gateway before they fill the memory', async () => {
    const { port } = await start([], 'embedded');
    const client = await connectTo(port);
    const many = get('/v1/x').repeat(10_000);
    for (let round = 0; round < 20; round += 1) client.socket.write(many);
    expect((await client.closed()).leftover).toBe('');
    expect((await ask(port, get('/v9/x'))).status).toBe(404);
  });
});

it('the index is sent without waiting for the request body', async () => {
  const { port } = await start([], 'standalone');
  const client = await connectTo(port);
  client.send(
    post('/', 'abc', 'Accept: */*').replace('POST', 'GET').replace('Content-Length: 3', 'Content-Length: 30'),
  );
  const response = await client.response();
  expect([response.status, singleValueOf(response, 'connection')]).toEqual([200, 'close']);
  await client.closed();
});

it('a redirect to public_url gets the prefix, too', async () => {
  const script = 'HTTP/1.1 302 Found\r\nLocation: https://api.example.com/x\r\nContent-Length: 0\r\n\r\n';
  const { port } = await start(script, 'standalone', { public_url: 'https://api.example.com' });
  expect(singleValueOf(await ask(port, get('/v1/y')), 'location')).toBe('https://api.example.com/v1/x');
});

it('a client that pipelines and does not read is cut off after write_idle', async () => {
  const backend = await startBackend(answer(200, 'x'.repeat(65_536)));
  const gateway = await startTestGateway({ '/v1': backend.url }, { defaults: { timeouts: { write_idle: '500ms' } } });
  const client = await connectTo(gateway.port);
  client.socket.pause();
  client.send(get('/v1/x').repeat(500));
  const metrics = async () => (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text();
  const cutOff = 'version_gateway_failures_total{version="v1",fault="client"} 1\n';
  await eventually(async () => expect(await metrics()).toContain(cutOff));
  expect(backend.requests.length).toBeGreaterThan(5);
  client.socket.resume();
  await client.closed();
  expect(backend.requests.length).toBeLessThan(500);
});

describe('after several pipelined requests', () => {
  const cases: [string, string, number][] = [
    ['an upgrade', get('/v1/ws', 'Connection: Upgrade', 'Upgrade: websocket'), 200],
    ['a CONNECT', message('CONNECT a:1 HTTP/1.1', 'Host: a'), 405],
    ['a TRACE', message('TRACE /v1/t HTTP/1.1', 'Host: a'), 405],
    ['an unknown expectation', get('/v1/x', 'Expect: x'), 417],
    ['broken bytes', '\0\0broken\r\n\r\n', 400],
  ];

  it.each(cases)('%s comes last', async (_name, bytes, status) => {
    const { port } = await start(slowly, 'standalone');
    const client = await connectTo(port);
    client.send(get('/v1/a') + get('/v9/b') + get('/v1/c') + get('/v9/d') + bytes);
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1) statuses.push((await client.response()).status);
    expect(statuses).toEqual([200, 404, 200, 404, status]);
    expect((await client.closed()).leftover).toBe('');
  });

  it('no request is run after a response that closes the connection', async () => {
    const { backend, port } = await start(slowly, 'standalone');
    const client = await connectTo(port);
    client.send(get('/v1/a') + post('/', 'abc') + message('DELETE /v1/x HTTP/1.1', 'Host: a'));
    expect((await client.response()).status).toBe(200);
    expect((await client.response()).status).toBe(405);
    expect((await client.closed()).leftover).toBe('');
    expect(backend.requests.map((request) => request.method)).toEqual(['GET']);
  });

  it('a last request with Connection: close is answered', async () => {
    const { port } = await start(slowly, 'standalone');
    const client = await connectTo(port);
    client.send(get('/v1/e') + get('/v1/f', 'Connection: close') + message('DELETE /v1/x HTTP/1.1', 'Host: a'));
    expect([(await client.response()).body, (await client.response()).body]).toEqual(['/e', '/f']);
    await client.closed();
  });
});

it('in a server with other listeners, an upgrade to another path is left to them', async () => {
  const backend = await startBackend();
  const gateway = createVersionGateway({ routes: { '/v1': backend.url } });
  const server = createServer((_req, res) => res.end()).on('upgrade', gateway.upgrade);
  const sockets = new WebSocketServer({ noServer: true });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data.toString())));
  server.on('upgrade', (req, socket, head) => {
    if (req.url === '/chat') sockets.handleUpgrade(req, socket, head, (ws) => sockets.emit('connection', ws, req));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close(gateway.close));
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/chat`);
  await once(socket, 'open');
  socket.send('hello');
  const [said] = (await once(socket, 'message')) as [Buffer];
  expect(said.toString()).toBe('hello');
  socket.terminate();
});

it('a tunnel whose client disconnects ends even if the backend ignores that', async () => {
  const backend = await startBackend([
    { write: 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n' },
    { take: () => {} },
  ]);
  const version = { upstream: backend.url, timeouts: { idle: '300ms' } };
  const gateway = await startTestGateway({ '/v1': version });
  const client = await connectTo(gateway.port);
  client.send(get('/v1/x', 'Connection: Upgrade', 'Upgrade: x'));
  await eventually(() => expect(client.pending).toContain('101'));
  client.end();
  await client.closed();
  await eventually(() => expect(backend.connections.every((one) => one.closed !== 'open')).toBe(true));
});
