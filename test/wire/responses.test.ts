import { describe, expect, it } from 'vitest';
import { inPieces } from '../support/backend.ts';
import { ask, connectTo, get, message } from '../support/rawClient.ts';
import { singleValueOf, valuesOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

const everyStatus = [
  200, 201, 202, 203, 206, 207, 226, 300, 301, 307, 308, 400, 401, 404, 418, 429, 451, 500, 503, 599,
];

describe('a response is passed on unchanged', () => {
  it.each(everyStatus)('with status %i', async (status) => {
    const { port } = await startWire(`HTTP/1.1 ${status} Some Reason\r\nContent-Length: 4\r\n\r\nbody`);
    const response = await ask(port, get('/v1/x'));
    expect([response.status, response.body]).toEqual([status, 'body']);
  });

  it.each([
    ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'],
    ['a length with leading zeros', 'HTTP/1.1 200 OK\r\nContent-Length: 005\r\n\r\nhello'],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n'],
    ['chunks with extensions', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n5;a="b"\r\nhello\r\n0;c\r\n\r\n'],
    ['no reason', 'HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello'],
    ['an obs-text reason', 'HTTP/1.1 200 Caf\xe9\r\nContent-Length: 5\r\n\r\nhello'],
    ['HTTP/1.0 and keep-alive', 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello'],
  ])('with %s', async (_name, bytes) => {
    const { port } = await startWire(bytes);
    const client = await connectTo(port);
    for (const path of ['/v1/a', '/v1/b']) {
      client.send(get(path));
      const response = await client.response();
      expect([response.version, response.status, response.body]).toEqual(['1.1', 200, 'hello']);
    }
  });

  it.each([
    ['HTTP/1.1', 'HTTP/1.1 200 OK\r\n\r\nhello'],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nhello'],
    ['Connection: close', 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello'],
  ])('with a body that ends with the connection: %s', async (_name, bytes) => {
    const { backend, port } = await startWire([{ write: bytes }, { wait: 20 }, { write: '!' }, { end: true }]);
    const client = await connectTo(port);
    for (const path of ['/v1/a', '/v1/b']) {
      client.send(get(path));
      const response = await client.response();
      expect([response.status, response.body, response.framing]).toEqual([200, 'hello!', 'chunked']);
    }
    expect(backend.connections).toHaveLength(2);
  });

  it('in pieces of one byte', async () => {
    const { port } = await startWire(
      inPieces('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n2;x\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n'),
    );
    const response = await ask(port, get('/v1/x'));
    expect([response.status, response.body, singleValueOf(response, 'x-a')]).toEqual([200, 'hello', 'b']);
  });

  it('to HTTP/1.0, but without chunks', async () => {
    const { port } = await startWire('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n');
    const client = await connectTo(port);
    client.send(message('GET /v1/x HTTP/1.0', 'Host: api.test'));
    const response = await client.response();
    expect([response.status, response.body]).toEqual([200, 'hello']);
    expect(response.framing).not.toBe('chunked');
    await client.closed();
  });
});

// RFC 9110 §8.6, §15.3.5, §15.4.5.
describe('a response without a body', () => {
  it('a 304 loses its Content-Length, which RFC 9110 §15.4.5 does not require', async () => {
    const { port } = await startWire('HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 1234\r\n\r\n');
    const client = await connectTo(port);
    for (const path of ['/v1/a', '/v1/b']) {
      client.send(get(path, 'If-None-Match: "a"'));
      const response = await client.response();
      expect([response.status, singleValueOf(response, 'content-length'), singleValueOf(response, 'etag')]).toEqual([
        304,
        undefined,
        '"a"',
      ]);
    }
  });

  it.each(['', 'Content-Length: 0\r\n', 'Transfer-Encoding: chunked\r\n'])(
    '204 with %j has no length',
    async (field) => {
      const { port } = await startWire(`HTTP/1.1 204 No Content\r\n${field}\r\n`);
      const client = await connectTo(port);
      for (const path of ['/v1/a', '/v1/b']) {
        client.send(get(path));
        const response = await client.response();
        // A Transfer-Encoding on a 204 is the backend's error (RFC 9112 §6.1): refusing it is fine.
        expect(field.startsWith('T') ? [204, 502] : [204]).toContain(response.status);
      }
      expect(client.pending).toBe('');
    },
  );

  it('205 and 200 with length 0 stay empty', async () => {
    const { port } = await startWire('HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n');
    const response = await ask(port, get('/v1/x'));
    expect([response.status, response.body, response.framing]).toEqual([205, '', 'length']);
  });
});

// RFC 9112 §7.1.2.
describe('trailers of a response', () => {
  const withTrailers =
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: caf\xe9\r\nX-B: 2\r\n\r\n';

  it('pass', async () => {
    const { port } = await startWire(withTrailers);
    const response = await ask(port, get('/v1/x', 'TE: trailers', 'Connection: TE'));
    expect(response.body).toBe('hello');
    expect(response.trailers).toEqual([
      ['X-Sum', 'caf\xe9'],
      ['X-B', '2'],
    ]);
    expect(valuesOf(response, 'x-sum')).toEqual([]);
  });

  it('are dropped for a client of HTTP/1.0', async () => {
    const { port } = await startWire(withTrailers);
    const response = await ask(port, message('GET /v1/x HTTP/1.0', 'Host: api.test'), 'GET');
    expect(response.body).toBe('hello');
  });

  // RFC 9110 §6.5.1: a trailer must not frame, route or authorise.
  it('cannot change the framing', async () => {
    const { port } = await startWire(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nContent-Length: 1\r\nTransfer-Encoding: x\r\n\r\n',
    );
    const client = await connectTo(port);
    client.send(get('/v1/x') + get('/v1/y'));
    for (const response of [await client.response(), await client.response()]) {
      expect(response.body).toBe('hello');
      expect(response.trailers.map(([name]) => name.toLowerCase())).not.toContain('transfer-encoding');
    }
  });
});

// RFC 9110 §6.6.1: a proxy adds a missing Date, and keeps an existing one.
describe('Date', () => {
  it('is added if the backend sends none', async () => {
    const { port } = await startWire('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    const date = Date.parse(singleValueOf(await ask(port, get('/v1/x')), 'date') ?? '');
    expect(Math.abs(Date.now() - date)).toBeLessThan(5_000);
  });

  it('of the backend is kept', async () => {
    const { port } = await startWire(
      'HTTP/1.1 200 OK\r\nDate: Tue, 15 Nov 1994 08:12:31 GMT\r\nContent-Length: 2\r\n\r\nok',
    );
    expect(singleValueOf(await ask(port, get('/v1/x')), 'date')).toBe('Tue, 15 Nov 1994 08:12:31 GMT');
  });

  it('is part of a problem response', async () => {
    const { port } = await startWire('');
    expect(singleValueOf(await ask(port, get('/nothing')), 'date')).toMatch(/ GMT$/);
  });
});
