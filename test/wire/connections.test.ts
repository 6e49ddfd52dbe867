import { describe, expect, it } from 'vitest';
import { answer } from '../support/backend.ts';
import { expectProblem } from '../support/problem.ts';
import { get, message } from '../support/rawClient.ts';
import { membersOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

// RFC 9112 §9.3.
describe('a client connection', () => {
  it('stays open for many requests, and so does the one to the backend', async () => {
    const { backend, client } = await startWire(({ target }) => answer(200, target));
    for (let index = 0; index < 10; index += 1) {
      client.send(get(`/v1/${index}`));
      expect((await client.response()).body).toBe(`/${index}`);
    }
    expect(backend.connections).toHaveLength(1);
  });

  it.each([
    ['Content-Length', ['Content-Length: 5'], 'hello'],
    ['chunked', ['Transfer-Encoding: chunked'], '5\r\nhello\r\n0\r\n\r\n'],
  ])('to the backend is used again after a request with a body, %s', async (_framing, fields, body) => {
    const { backend, client } = await startWire(({ target }) => answer(200, target));
    for (let index = 0; index < 5; index += 1) {
      client.send(`${message(`POST /v1/${index} HTTP/1.1`, 'Host: api.test', ...fields)}${body}`);
      expect((await client.response()).body).toBe(`/${index}`);
    }
    expect(backend.requests).toHaveLength(5);
    expect(backend.connections).toHaveLength(1);
  });

  it('stays open after a 404', async () => {
    const { client } = await startWire(({ target }) => answer(200, target));
    client.send(get('/nothing') + get('/v1/x'));
    expectProblem(await client.response(), 404);
    expect((await client.response()).body).toBe('/x');
  });

  it('is closed after Connection: close', async () => {
    const { client } = await startWire(({ target }) => answer(200, target));
    client.send(get('/v1/x', 'Connection: close'));
    const response = await client.response();
    expect(membersOf(response, 'connection')).toContain('close');
    expect((await client.closed()).leftover).toBe('');
  });

  it.each(['CLOSE', 'x, Close', 'keep-alive, close'])('is closed after Connection: %s', async (value) => {
    const { client } = await startWire(({ target }) => answer(200, target));
    client.send(get('/v1/x', `Connection: ${value}`));
    expect((await client.response()).status).toBe(200);
    await client.closed();
  });

  it('is closed after a request of HTTP/1.0', async () => {
    const { client } = await startWire(({ target }) => answer(200, target));
    client.send(message('GET /v1/x HTTP/1.0', 'Host: api.test'));
    expect((await client.response()).body).toBe('/x');
    await client.closed();
  });

  it('stays open in HTTP/1.0 with keep-alive, if the response has it too', async () => {
    const { client } = await startWire(({ target }) => answer(200, target));
    client.send(message('GET /v1/x HTTP/1.0', 'Host: api.test', 'Connection: keep-alive'));
    const response = await client.response();
    expect(response.body).toBe('/x');
    if (!/keep-alive/i.test(membersOf(response, 'connection').join())) {
      await client.closed();
      return;
    }
    expect(response.framing).toBe('length');
    client.send(message('GET /v1/y HTTP/1.0', 'Host: api.test', 'Connection: keep-alive'));
    expect((await client.response()).body).toBe('/y');
  });
});
