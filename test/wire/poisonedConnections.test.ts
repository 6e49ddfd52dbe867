import { describe, expect, it } from 'vitest';
import { answer } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { get, message } from '../support/rawClient.ts';
import { startWire } from '../support/wire.ts';

const ok = 'Content-Length: 2\r\n\r\nok';
const chunkedHead = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

// On a reused connection the extra bytes would answer the next client (response splitting).
describe('bytes after a response reach no other client', () => {
  const poison = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison';
  it.each([
    ['a body', 'GET', `HTTP/1.1 200 OK\r\n${ok}`, 200],
    ['an empty body', 'GET', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 200],
    ['chunks', 'GET', `${chunkedHead}2\r\nok\r\n0\r\n\r\n`, 200],
    ['204', 'GET', 'HTTP/1.1 204 No Content\r\n\r\n', 204],
    ['204 with a Content-Length', 'GET', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello', 204],
    ['304', 'GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello', 304],
    ['HEAD', 'HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 200],
    ['HEAD in chunks', 'HEAD', `${chunkedHead}5\r\nhello\r\n0\r\n\r\n`, 200],
  ])('after %s', async (_name, method, first, status) => {
    const { backend, client } = await startWire(({ connection }) =>
      connection === 0 ? [{ write: first + poison }] : answer(200, 'genuine'),
    );
    client.send(message(`${method} /v1/x HTTP/1.1`, 'Host: api.test'));
    const response = await client.response(method);
    expect([status, 502]).toContain(response.status);
    expect(response.body).not.toContain('poison');
    client.send(get('/v1/y'));
    expect((await client.response()).body).toBe('genuine');
    expect(client.pending).toBe('');
    expect(backend.connections.length).toBeGreaterThan(1);
  });

  it('on a connection that was idle for a while', async () => {
    const { backend, client } = await startWire(({ connection }) =>
      connection === 0
        ? [{ write: `HTTP/1.1 200 OK\r\n${ok}` }, { wait: 50 }, { write: poison }]
        : answer(200, 'genuine'),
    );
    client.send(get('/v1/x'));
    expect((await client.response()).body).toBe('ok');
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
    client.send(get('/v1/y'));
    expect((await client.response()).body).toBe('genuine');
  });
});
