import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createVersionGateway } from '../../gateway/index.ts';
import { type Answer, answer, startBackend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { ask, chunked, connectTo, get, message, post } from '../support/rawClient.ts';
import { singleValueOf, valuesOf } from '../support/response.ts';

const upgrade = get('/v1/ws', 'Connection: Upgrade', 'Upgrade: websocket');
const slowly: Answer = (request) => [{ wait: 100 }, { write: answer(200, request.target) }];

/** A version that is deprecated, in a gateway of its own, and one that is embedded in somebody's server. */
async function start(script: Answer, kind: 'own' | 'embedded', settings: Record<string, unknown> = {}) {
  const backend = await startBackend(script);
  const routes = { '/v1': { upstream: backend.url, deprecation: '2026-06-30' }, '/v2': backend.url };
  if (kind === 'own') return { backend, port: (await startTestGateway(routes, { gateway: settings })).port };
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

describe.each(['own', 'embedded'] as const)('one client cannot bring an %s gateway down', (kind) => {
  it('with an upgrade behind a request that is under way', async () => {
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

  it('an upgrade to a path that nobody has is answered', async () => {
    const { port } = await start(slowly, kind);
    const response = await ask(port, get('/nobody', 'Connection: Upgrade', 'Upgrade: websocket'));
    expectProblem(response, 404);
  });
});

it('a CONNECT behind a request that is under way waits for its turn', async () => {
  const { port } = await start(slowly, 'own');
  const client = await connectTo(port);
  client.send(get('/v1/slow') + message('CONNECT a:443 HTTP/1.1', 'Host: a:443'));
  expect((await client.response()).body).toBe('/slow');
  expectProblem(await client.response('CONNECT'), 405);
});

describe('a client that asks to switch and leaves', () => {
  it.each([
    ['before the backend answers', [] as const],
    ['before the backend switches', [{ wait: 300 }, { write: 'HTTP/1.1 101 Switching Protocols\r\n\r\n' }] as const],
  ])('%s takes the connection to the backend with it', async (_when, steps) => {
    const { backend, port } = await start([...steps], 'own');
    const client = await connectTo(port);
    client.send(upgrade);
    await eventually(() => expect(backend.requests).toHaveLength(1));
    client.end();
    await eventually(() => expect(backend.connections.every((one) => one.closed !== 'open')).toBe(true));
    await client.closed();
  });
});

// RFC 9110 §6.6.2: Trailer is only a hint, and there is no chunked body that it could speak of.
describe('a Trailer field without a body to follow', () => {
  const head = (status: string) => `HTTP/1.1 ${status}\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n`;

  it.each([
    ['HEAD', '200 OK'],
    ['GET', '304 Not Modified'],
    ['GET', '204 No Content'],
  ])('in answer to %s, with %s, is dropped', async (method, status) => {
    const { port } = await start(head(status), 'own');
    const response = await ask(port, message(`${method} /v1/x HTTP/1.1`, 'Host: a'), method);
    expect([response.status, singleValueOf(response, 'trailer')]).toEqual([Number(status.slice(0, 3)), undefined]);
    expect((await ask(port, message(`${method} /v1/x HTTP/1.1`, 'Host: a'), method)).status).toBe(response.status);
  });
});

it('a trailer cannot say again what the head said of the version’s end', async () => {
  const body =
    '2\r\nok\r\n0\r\nDeprecation: true\r\nSunset: x\r\nLink: </>; rel="successor-version"\r\nX-Own: 1\r\n\r\n';
  const { port } = await start(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`, 'own');
  const response = await ask(port, get('/v1/x'));
  expect(response.trailers.map(([name]) => name)).toEqual(['X-Own']);
});

it('a body that breaks off into nonsense is refused, and the refusal speaks of the version’s end', async () => {
  const { port } = await start([], 'own');
  const client = await connectTo(port);
  client.send(chunked('/v1/x', '2\r\nab\r\n', 'Origin: https://a.example'));
  await new Promise((resolve) => setTimeout(resolve, 50));
  client.send('ZZ\r\n');
  const response = await client.response();
  expectProblem(response, 400);
  expect(valuesOf(response, 'deprecation')).toEqual(['@1782777600']);
  expect(singleValueOf(response, 'access-control-allow-origin')).toBe('*');
  await client.closed();
});

describe('pipelined requests behind one that takes its time', () => {
  it('are all answered, hundreds of them', async () => {
    const { port } = await start(slowly, 'own', {});
    const client = await connectTo(port);
    client.send(get('/v1/slow') + get('/v9/x').repeat(900));
    expect((await client.response()).body).toBe('/slow');
    for (let count = 0; count < 900; count += 1) expect((await client.response()).status).toBe(404);
  });

  it('without end are cut off, before they fill the memory', async () => {
    const { port } = await start([], 'own');
    const client = await connectTo(port);
    const many = get('/v1/x').repeat(10_000);
    for (let round = 0; round < 20; round += 1) client.socket.write(many);
    expect((await client.closed()).leftover).toBe('');
    expect((await ask(port, get('/v9/x'))).status).toBe(404);
  });
});

it('the index does not wait for a body that it did not ask for', async () => {
  const { port } = await start([], 'own');
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
  const { port } = await start(script, 'own', { public_url: 'https://api.example.com' });
  expect(singleValueOf(await ask(port, get('/v1/y')), 'location')).toBe('https://api.example.com/v1/x');
});
