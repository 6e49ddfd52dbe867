import { describe, expect, it } from 'vitest';
import { answer } from '../support/backend.ts';
import { ask, connectTo, get, message, post } from '../support/rawClient.ts';
import { membersOf, singleValueOf, valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

const start = (script = answer(200, 'ok')) =>
  startWire(script, {
    version: { deprecation: '2026-06-30', sunset: '2028-06-30' },
    routes: (url) => ({ '/v2': url }),
  });

// RFC 9110 §7.6.1.
describe('the hop-by-hop fields of a request', () => {
  it.each([
    ['Keep-Alive', 'timeout=5'],
    ['Proxy-Connection', 'keep-alive'],
    ['Proxy-Authorization', 'Basic c2VjcmV0'],
    ['TE', 'trailers'],
    ['TE', 'gzip'],
    ['Trailer', 'X-A'],
    ['Upgrade', 'websocket'],
    ['Upgrade', 'h2c'],
  ])('%s: %s is not forwarded', async (name, value) => {
    const { backend, port } = await start();
    expect((await ask(port, get('/v1/x', `${name}: ${value}`))).status).toBe(200);
    expect(valuesOf(backend.request, name)).toEqual([]);
  });

  it.each([
    ['one field', ['Connection: X-Gone'], 1],
    ['in any case', ['connection: x-GONE'], 1],
    ['among others', ['Connection: keep-alive, X-Gone ,X-Also-Gone'], 2],
    ['over two lines', ['Connection: X-Gone', 'Connection: X-Also-Gone'], 2],
    ['with empty members', ['Connection: , ,X-Gone,,'], 1],
    ['beside close', ['Connection: close, X-Gone'], 1],
  ])('fields named by Connection are not forwarded: %s', async (_name, connection, gone) => {
    const { backend, port } = await start();
    const fields = ['X-Gone: 1', 'X-Stays: 2', 'X-Also-Gone: 3', 'x-gone: 4'];
    expect((await ask(port, get('/v1/x', ...connection, ...fields))).status).toBe(200);
    expect(valuesOf(backend.request, 'x-gone')).toEqual([]);
    expect(valuesOf(backend.request, 'x-also-gone')).toHaveLength(2 - gone);
    expect(valuesOf(backend.request, 'x-stays')).toEqual(['2']);
    expect(membersOf(backend.request, 'connection').join()).not.toMatch(/x-|close/i);
  });

  // A field that routes, frames or authorises must not be removable by a Connection header.
  it.each([
    ['Host', 'api.test'],
    ['Content-Length', '5'],
    ['Content-Type', 'text/plain'],
    ['Authorization', 'Bearer abc'],
    ['Cookie', 'a=b'],
    ['X-Forwarded-For', '127.0.0.1'],
    ['X-Forwarded-Host', 'api.test'],
    ['X-Forwarded-Proto', 'http'],
    ['X-Forwarded-Prefix', '/v1'],
  ])('Connection: %s does not remove it', async (name, value) => {
    const { backend, port } = await start();
    const fields = ['Content-Type: text/plain', 'Authorization: Bearer abc', 'Cookie: a=b'];
    const response = await ask(port, post('/v1/x', 'hello', `Connection: ${name}`, ...fields));
    expect(response.status).toBe(200);
    expect(valuesOf(backend.request, name)).toEqual([value]);
    expect(backend.request.body).toBe('hello');
  });

  it.each(['Via', 'X-Request-Id'])('Connection: %s does not remove the field of the gateway', async (name) => {
    const { backend, port } = await start();
    expect((await ask(port, get('/v1/x', `Connection: ${name}`))).status).toBe(200);
    expect(valuesOf(backend.request, name)).toHaveLength(1);
  });

  it('Connection: Transfer-Encoding does not remove the framing', async () => {
    const { backend, port } = await start();
    const fields = ['Connection: Transfer-Encoding', 'Transfer-Encoding: chunked'];
    const bytes = message('POST /v1/x HTTP/1.1', 'Host: api.test', ...fields);
    expect((await ask(port, `${bytes}5\r\nhello\r\n0\r\n\r\n`)).status).toBe(200);
    expect(backend.request.body).toBe('hello');
  });

  it.each(['close', 'keep-alive'])('Connection: %s applies to the client connection only', async (value) => {
    const { backend, port } = await start();
    const client = await connectTo(port);
    client.send(get('/v1/x', `Connection: ${value}`));
    expect((await client.response()).status).toBe(200);
    expect(membersOf(backend.request, 'connection')).not.toContain('close');
  });
});

describe('the hop-by-hop fields of a response', () => {
  it.each([
    ['Keep-Alive', 'timeout=5'],
    ['Proxy-Connection', 'keep-alive'],
    ['Upgrade', 'h2c'],
    ['TE', 'trailers'],
  ])('%s: %s is not passed on', async (name, value) => {
    const { port } = await start(answer(200, 'ok', `${name}: ${value}`));
    const response = await ask(port, get('/v1/x'));
    expect([response.status, response.body]).toEqual([200, 'ok']);
    expect(valuesOf(response, name)).not.toContain(value);
  });

  it('fields named by Connection are not passed on', async () => {
    const { port } = await start(answer(200, 'ok', 'Connection: X-Gone, keep-alive', 'X-Gone: 1', 'X-Stays: 2'));
    const response = await ask(port, get('/v1/x'));
    expect(valuesOf(response, 'x-gone')).toEqual([]);
    expect(valuesOf(response, 'x-stays')).toEqual(['2']);
    expect(membersOf(response, 'connection').join()).not.toMatch(/x-gone/i);
  });

  it.each(['Content-Length', 'Set-Cookie', 'Deprecation', 'Sunset', 'Link'])(
    'Connection: %s does not remove it',
    async (name) => {
      const { port } = await start(answer(200, 'ok', `Connection: ${name}`, 'Set-Cookie: a=b'));
      const response = await ask(port, get('/v1/x'));
      expect(response.body).toBe('ok');
      expect(singleValueOf(response, name)).toBeDefined();
    },
  );

  it('Connection: close of the backend does not close the client connection', async () => {
    const { backend, port } = await start(answer(200, 'ok', 'Connection: close'));
    const client = await connectTo(port);
    for (const path of ['/v1/a', '/v1/b']) {
      client.send(get(path));
      const response = await client.response();
      expect(response.body).toBe('ok');
      expect(membersOf(response, 'connection')).not.toContain('close');
    }
    expect(backend.connections).toHaveLength(2);
  });
});
