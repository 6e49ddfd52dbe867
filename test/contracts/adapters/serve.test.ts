import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Answer, answer, inPieces, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { refusedUrl } from '../../support/gateway.ts';
import { askHttp2, connectHttp2 } from '../../support/http2Client.ts';
import { expectProblem } from '../../support/problem.ts';
import { ask, chunked, connectTo, get, message, post } from '../../support/rawClient.ts';
import { type RawResponse, singleValueOf, valuesOf } from '../../support/response.ts';
import { type ServedSettings, startServed } from './servedVersion.ts';

const json = 'Content-Type: application/json';
const cocktail = '{"title":"Mojito","price":9.5,"glass":"highball"}';
const drink = '{"name":"Mojito","price":"9.50"}';

/** A response with bytes as its body. */
function binary(body: Buffer, ...fields: string[]): Buffer {
  const head = ['HTTP/1.1 200 OK', json, ...fields, `Content-Length: ${body.length}`].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), body]);
}

async function drinkFrom(script: Answer, ...fields: string[]): Promise<RawResponse> {
  const { port } = await startServed(script);
  return ask(port, get('/v1/drinks/7', ...fields));
}

describe.each([
  ['the fast lane', 'auto'],
  ['node:http', 'off'],
])('a version that is served from another backend, over %s', (_name, lane) => {
  const gateway = { fast_lane: lane };

  it('changes path, query and body, and keeps the connection', async () => {
    const { backend, port } = await startServed(answer(200, cocktail, json), { gateway });
    const client = await connectTo(port);
    for (const number of [1, 2]) {
      client.send(get(`/v1/drinks/${number}?x=1`, 'Accept-Encoding: gzip'));
      const response = await client.response();
      expect([response.status, response.body]).toEqual([200, drink]);
      expect(singleValueOf(response, 'content-length')).toBe(String(drink.length));
    }
    expect(backend.requests.map(({ raw }) => raw.split('\r\n', 1)[0])).toEqual([
      'GET /cocktails/1?x=1 HTTP/1.1',
      'GET /cocktails/2?x=1 HTTP/1.1',
    ]);
    expect(backend.bytes).toMatch(/\r\nAccept-Encoding: identity\r\n/);
    expect(backend.bytes).not.toMatch(/gzip/);
    expect(backend.bytes).toMatch(/\r\nX-Forwarded-Prefix: \/v2\r\n/);
  });

  it('serves a path with a final slash like the path without it', async () => {
    const { backend, port } = await startServed(answer(200, cocktail, json), { gateway });
    const response = await ask(port, get('/v1/drinks/7/?x=1'));
    expect([response.status, response.body]).toEqual([200, drink]);
    expect(backend.request.raw).toMatch(/^GET \/cocktails\/7\?x=1 HTTP/);
  });

  it('sends an adapted body with its new length', async () => {
    const { backend, port } = await startServed(answer(201, cocktail, json), { gateway });
    const response = await ask(port, post('/v1/drinks', '{"name":"Mojito"}', json));
    expect([response.status, response.body]).toEqual([201, drink]);
    expect(backend.request.raw).toMatch(/^POST \/cocktails HTTP/);
    expect(backend.request.raw).toMatch(/\r\nContent-Length: 33\r\n/);
    expect(backend.request.raw.endsWith('\r\n\r\n{"title":"Mojito","glass":"none"}')).toBe(true);
  });

  it('reads a body that arrives slowly and in chunks', async () => {
    const { backend, port } = await startServed(answer(201, cocktail, json), { gateway });
    const client = await connectTo(port);
    await client.sendPieces([
      chunked('/v1/drinks', '', json),
      '8\r\n{"name":\r\n',
      '3\r\n"a"\r\n1\r\n}\r\n',
      '0\r\n\r\n',
    ]);
    const response = await client.response('POST');
    expect([response.status, response.body]).toEqual([201, drink]);
    expect(backend.request.raw).toMatch(/Content-Length: 28\r\n/);
    expect(backend.request.raw).not.toMatch(/Transfer-Encoding/i);
  });

  it('asks for a body that waits for a 100', async () => {
    const { backend, port } = await startServed(answer(201, cocktail, json), { gateway });
    const client = await connectTo(port);
    const body = '{"name":"a"}';
    client.send(post('/v1/drinks', '', json, 'Expect: 100-continue').replace('Length: 0', `Length: ${body.length}`));
    await eventually(() => expect(client.pending).toBe('HTTP/1.1 100 Continue\r\n\r\n'));
    expect(backend.connections).toEqual([]);
    client.send(body);
    expect((await client.response('POST')).status).toBe(201);
    expect(backend.request.raw).not.toMatch(/expect/i);
  });

  it('refuses a body over adapter.body, with and without a length', async () => {
    const { backend, port } = await startServed(answer(201, cocktail, json), { gateway, adapter: { body: '1KiB' } });
    const long = `{"name":"${'a'.repeat(1100)}"}`;
    expectProblem(await ask(port, post('/v1/drinks', long, json)), 413);
    expectProblem(await ask(port, chunked('/v1/drinks', `${long.length.toString(16)}\r\n${long}\r\n`, json)), 413);
    expect(backend.requests).toEqual([]);
  });

  it.each([
    ['no JSON', '{"name":', json, 400],
    ['an empty body', '', json, 400],
    ['an array where the operations need an object', '[1]', json, 400],
    ['an array of objects', '[{"name":"a"}]', json, 400],
    ['a text', '"a"', json, 400],
    ['null', 'null', json, 400],
    ['another content type', 'name=a', 'Content-Type: application/x-www-form-urlencoded', 415],
    ['another charset', '{"name":"a"}', 'Content-Type: application/json; charset=utf-16', 415],
  ])('refuses a request with %s', async (_case, body, type, status) => {
    const { backend, port } = await startServed(answer(201, cocktail, json), { gateway });
    expectProblem(await ask(port, post('/v1/drinks', body, type)), status);
    expect(backend.requests).toEqual([]);
  });

  it.each([
    ['a length of 0', post('/v1/drinks', '')],
    ['no length', message('POST /v1/drinks HTTP/1.1', 'Host: a')],
    ['no chunks', chunked('/v1/drinks', '0\r\n\r\n')],
  ])('passes on a request without a body and type: %s', async (_case, request) => {
    const { backend, port } = await startServed(answer(201, cocktail, json), { gateway });
    expect((await ask(port, request)).status).toBe(201);
    expect(backend.request.raw).toMatch(/\r\nContent-Length: 0\r\n/);
    expect(backend.request.raw.endsWith('\r\n\r\n')).toBe(true);
    expect(backend.request.raw).not.toMatch(/Transfer-Encoding/i);
  });

  it('waits for the backend after a chunked body without chunks, and keeps both connections', async () => {
    const { backend, port } = await startServed([{ wait: 700 }, { write: answer(201, cocktail, json) }], {
      gateway: { ...gateway, timeouts: { body_idle: '200ms' } },
    });
    const client = await connectTo(port);
    for (let round = 0; round < 2; round += 1) {
      client.send(chunked('/v1/drinks', '0\r\n\r\n'));
      expect((await client.response()).status).toBe(201);
    }
    expect(backend.connections).toHaveLength(1);
  });

  it('answers 410 with the reason for routes that the adapter does not have', async () => {
    const { backend, port } = await startServed(answer(200, cocktail, json), { gateway });
    const gone = expectProblem(await ask(port, get('/v1/search?q=a')), 410);
    expect(gone).toMatchObject({
      code: 'ROUTE_NOT_ADAPTED',
      version: 'v1',
      reason: 'v2 has no search',
      successor: '/v2',
    });
    for (const request of [
      get('/v1/drinks/mine'),
      get('/v1/unknown'),
      message('PUT /v1/drinks/7 HTTP/1.1', 'Host: a'),
    ]) {
      expectProblem(await ask(port, request), 410);
    }
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket'];
    expectProblem(await ask(port, get('/v1/drinks/7', ...upgrade)), 410);
    expect(backend.requests).toEqual([]);
  });

  it('answers preflights', async () => {
    const { backend, port } = await startServed('HTTP/1.1 204 No Content\r\nAllow: GET\r\n\r\n', { gateway });
    const preflight = (path: string, method: string): string =>
      message(
        `OPTIONS ${path} HTTP/1.1`,
        'Host: a',
        'Origin: https://a.test',
        `Access-Control-Request-Method: ${method}`,
      );
    expect((await ask(port, preflight('/v1/drinks/7', 'GET'))).status).toBe(204);
    expect(backend.request.raw).toMatch(/^OPTIONS \/cocktails\/7 HTTP/);
    expect((await ask(port, preflight('/v1/search', 'GET'))).status).toBe(204);
    expect(backend.requests).toHaveLength(1);
  });

  it('reports a backend that is down', async () => {
    const { port } = await startServed(answer(200, cocktail, json), {
      gateway,
      source: { upstream: await refusedUrl() },
    });
    expect(expectProblem(await ask(port, get('/v1/drinks/7')), 502)['code']).toBe('TARGET_REFUSED');
    expect(expectProblem(await ask(port, post('/v1/drinks', '{"name":"a"}', json)), 502)['code']).toBe(
      'TARGET_REFUSED',
    );
  });

  it('answers 502 for a body that breaks off, and closes nothing that it could reuse', async () => {
    const { port } = await startServed(
      [{ write: `HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 99\r\n\r\n{"ti` }, { end: true }],
      { gateway },
    );
    expect(expectProblem(await ask(port, get('/v1/drinks/7')), 502)['code']).toBe('TARGET_FAILED');
  });

  it('sends a request again to another target, with its adapted body', async () => {
    const backend = await startBackend(answer(201, cocktail, json));
    const { port } = await startServed(answer(201, cocktail, json), {
      gateway,
      source: { upstream: [await refusedUrl(), backend.url] },
    });
    for (let round = 0; round < 2; round += 1) {
      const response = await ask(port, post('/v1/drinks', '{"name":"a"}', json));
      expect([response.status, response.body]).toEqual([201, drink]);
    }
    expect(backend.requests.map(({ body }) => body)).toEqual(Array(2).fill('{"title":"a","glass":"none"}'));
  });

  it.each([
    ['its own', { version: { retries: { budget: '0%', budget_min: '0/s' } } }, [201, 502]],
    ['not that of the backend', { source: { retries: { budget: '0%', budget_min: '0/s' } } }, [201, 201]],
  ])('uses a retry budget: %s', async (_case, { version = {}, source = {} }: ServedSettings, expected) => {
    const backend = await startBackend(answer(201, cocktail, json));
    const upstream = [await refusedUrl(), backend.url];
    const { port } = await startServed(answer(201, cocktail, json), {
      gateway,
      version,
      source: { upstream, ...source },
    });
    const statuses = [];
    for (let round = 0; round < 2; round += 1)
      statuses.push((await ask(port, post('/v1/drinks', '{"name":"a"}', json))).status);
    expect(statuses.toSorted()).toEqual(expected);
  });

  it('refuses an upload that is malformed or too slow', async () => {
    const { backend, port } = await startServed(answer(201, cocktail, json), {
      gateway: { ...gateway, timeouts: { body_idle: '300ms' } },
    });
    const malformed = await connectTo(port);
    malformed.send(chunked('/v1/drinks', '3\r\n{"n\r\nx', json));
    expectProblem(await malformed.response('POST'), 400);
    const slow = await connectTo(port);
    slow.send(post('/v1/drinks', '{"name":', json).replace(/Length: \d+/, 'Length: 100'));
    expectProblem(await slow.response('POST'), 408);
    await Promise.all([malformed.closed(), slow.closed()]);
    expect(backend.connections).toEqual([]);
  });

  it('changes a large request body in a thread', async () => {
    const { backend, port } = await startServed(answer(201, cocktail, json), { gateway });
    const name = 'a'.repeat(400_000);
    expect((await ask(port, post('/v1/drinks', `{"name":"${name}"}`, json))).status).toBe(201);
    expect(backend.request.body === `{"title":"${name}","glass":"none"}`).toBe(true);
    const broken = await ask(port, post('/v1/drinks', `{"name":"${name}"`, json));
    expectProblem(broken, 400);
  });

  it('answers HTTP/1.0', async () => {
    const { port } = await startServed([{ write: `HTTP/1.1 200 OK\r\n${json}\r\n\r\n${cocktail}` }, { end: true }], {
      gateway,
    });
    const response = await ask(port, message('GET /v1/drinks/7 HTTP/1.0', 'Host: a'));
    expect([response.status, response.body, response.framing]).toEqual([200, drink, 'length']);
  });

  it('ends a request whose client leaves', async () => {
    const { backend, port } = await startServed(() => [{ wait: new Promise(() => {}) }], { gateway });
    const client = await connectTo(port);
    client.send(get('/v1/drinks/7'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    client.reset();
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
  });

  it('ends an upload whose client leaves, before the backend is called', async () => {
    const { adminPort, backend, port } = await startServed(answer(201, cocktail, json), { gateway });
    const client = await connectTo(port);
    client.send(post('/v1/drinks', '{"name":"a"', json).replace(/Length: \d+/, 'Length: 100'));
    const inFlight = async (): Promise<unknown> =>
      (
        (await (await fetch(`http://127.0.0.1:${adminPort}/api/status`)).json()) as {
          versions: { in_flight: number }[];
        }
      ).versions[0]?.in_flight;
    await eventually(async () => expect(await inFlight()).toBe(1));
    client.reset();
    await eventually(async () => expect(await inFlight()).toBe(0));
    expect(backend.connections).toEqual([]);
  });
});

describe('the body of an adapted response', () => {
  const large = `{"title":"Mojito","price":12345678901234567890,"n":1.0,"big":12345678901234567890,"e":1E400}`;

  it.each<[string, Answer, string]>([
    [
      'numbers that a double cannot hold',
      answer(200, large, json),
      '{"name":"Mojito","price":"12345678901234567890.00","n":1.0,"big":12345678901234567890,"e":1E400}',
    ],
    ['gzip', binary(gzipSync(cocktail), 'Content-Encoding: gzip'), drink],
    ['br', binary(brotliCompressSync(cocktail), 'Content-Encoding: br'), drink],
    ['zstd', binary(zstdCompressSync(cocktail), 'Content-Encoding: zstd'), drink],
    ['two codings', binary(brotliCompressSync(gzipSync(cocktail)), 'Content-Encoding: gzip, br'), drink],
    [
      '__proto__',
      answer(200, '{"title":"a","price":1,"__proto__":{"title":"b"}}', json),
      '{"name":"a","price":"1.00","__proto__":{"title":"b"}}',
    ],
    ['duplicate keys', answer(200, '{"title":"a","price":1,"title":"b"}', json), '{"name":"b","price":"1.00"}'],
    ['a byte order mark', answer(200, `\xef\xbb\xbf${cocktail}`, json), drink],
    [
      'chunks',
      `HTTP/1.1 200 OK\r\n${json}\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n8\r\n${cocktail.slice(0, 8)}\r\n${(cocktail.length - 8).toString(16)}\r\n${cocktail.slice(8)}\r\n0\r\nX-T: 1\r\n\r\n`,
      drink,
    ],
    ['pieces of a byte', inPieces(answer(200, cocktail, json)), drink],
    ['an end of the connection', [{ write: `HTTP/1.1 200 OK\r\n${json}\r\n\r\n${cocktail}` }, { end: true }], drink],
    ['UTF-8 in its charset', answer(200, cocktail, 'Content-Type: application/json; charset="UTF-8"'), drink],
    ['another JSON type', answer(200, cocktail, 'Content-Type: application/hal+json'), drink],
  ])('has %s', async (_name, script, expected) => {
    const response = await drinkFrom(script);
    expect([response.status, response.body]).toEqual([200, expected]);
    for (const name of ['content-encoding', 'trailer', 'transfer-encoding'])
      expect(valuesOf(response, name)).toEqual([]);
    expect(singleValueOf(response, 'content-length')).toBe(String(expected.length));
    expect(response.trailers).toEqual([]);
  });

  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  it.each<[string, Answer, string]>([
    ['a violation of the contract', answer(200, '{"title":"a"}', json), '/price'],
    ['a value of another type', answer(200, '{"title":1,"price":1}', json), '/name'],
    ['a value that cannot be converted', answer(200, '{"title":"a","price":"free"}', json), '/price'],
    ['an array where the operations need an object', answer(200, `[${cocktail}]`, json), ''],
    ['truncated JSON', answer(200, cocktail.slice(0, -1), json), ''],
    ['NaN', answer(200, '{"title":"a","price":NaN}', json), ''],
    ['invalid UTF-8', answer(200, '{"title":"\xff","price":1}', json), ''],
    ['another charset', answer(200, cocktail, 'Content-Type: application/json; charset=iso-8859-1'), ''],
    ['HTML', answer(200, '<html>', 'Content-Type: text/html'), ''],
    ['a stream', 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n', ''],
    ['no content type', answer(200, cocktail), ''],
    ['an empty body', answer(200, '', json), ''],
    [
      'deep nesting around a number that is kept by its text',
      answer(200, `{"title":"a","price":1.0,"x":${deep}}`, json),
      '',
    ],
    ['a part of a body', answer(206, cocktail, json, 'Content-Range: bytes 0-48/99'), ''],
    ['an unknown coding', answer(200, cocktail, json, 'Content-Encoding: compress'), ''],
    ['a broken coding', answer(200, cocktail, json, 'Content-Encoding: gzip'), ''],
  ])('is refused: %s', async (_name, script, pointer) => {
    const problem = expectProblem(await drinkFrom(script), 502);
    expect(problem).toMatchObject({ code: 'ADAPTER_FAILED', version: 'v1', route: 'GET /drinks/{id}', pointer });
  });

  it.each([
    ['with a length', answer(200, `{"title":"${'a'.repeat(2000)}","price":1}`, json)],
    [
      'in chunks',
      `HTTP/1.1 200 OK\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n${' '.repeat(2000)}\r\n0\r\n\r\n`,
    ],
    ['as a bomb', binary(gzipSync(`{"title":"${'a'.repeat(200_000)}","price":1}`), 'Content-Encoding: gzip')],
  ])('over adapter.body is refused: %s', async (_name, script) => {
    const { port } = await startServed(script, { adapter: { body: '1KiB' } });
    expect(expectProblem(await ask(port, get('/v1/drinks/7')), 502)['code']).toBe('ADAPTER_FAILED');
  });

  it('is changed in a thread if it is large, even a decompression bomb', async () => {
    const title = 'é'.repeat(400_000);
    const body = `{"title":"${title}","price":9.5,"glass":null}`;
    const { port } = await startServed(({ target }) =>
      target.endsWith('/1')
        ? binary(Buffer.from(body))
        : target.endsWith('/2')
          ? binary(gzipSync(body), 'Content-Encoding: gzip')
          : binary(Buffer.from(body.replace('9.5', '"free"'))),
    );
    for (const id of [1, 2]) {
      const response = await ask(port, get(`/v1/drinks/${id}`));
      expect(response.status).toBe(200);
      expect(Buffer.from(response.body, 'latin1').toString() === `{"name":"${title}","price":"9.50"}`).toBe(true);
    }
    expect(expectProblem(await ask(port, get('/v1/drinks/3')), 502)['pointer']).toBe('/price');
  });

  it('is passed on if its status has no row, whatever the body contains', async () => {
    const { port } = await startServed(({ target, method }) =>
      target.startsWith('/export')
        ? answer(200, 'a;b', 'Content-Type: text/csv', 'ETag: "x"')
        : method === 'POST'
          ? answer(503, '<html>', 'Content-Type: text/html', 'Retry-After: 5')
          : answer(302, '<html>', 'Content-Type: text/html', 'Location: /cocktails/8'),
    );
    const csv = await ask(port, get('/v1/export'));
    expect([csv.status, csv.body, singleValueOf(csv, 'etag')]).toEqual([200, 'a;b', 'W/"x-abcdef012345"']);
    const down = await ask(port, post('/v1/drinks', '{"name":"a"}', json));
    expect([down.status, down.body, singleValueOf(down, 'retry-after')]).toEqual([503, '<html>', '5']);
    // The row `default` is for errors.
    const elsewhere = await ask(port, get('/v1/drinks/7'));
    expect([elsewhere.status, elsewhere.body, singleValueOf(elsewhere, 'location')]).toEqual([
      302,
      '<html>',
      '/v1/drinks/8',
    ]);
  });

  it('of an error may be empty', async () => {
    const response = await drinkFrom(answer(401, '', 'WWW-Authenticate: Bearer'));
    expect([response.status, response.body]).toEqual([401, '']);
  });

  it('of an error is changed by its own row', async () => {
    const response = await drinkFrom(answer(404, '{"detail":"none"}', json));
    expect([response.status, response.body]).toEqual([404, '{"message":"none"}']);
  });

  it('reaches a client that reads slowly', async () => {
    const title = 'a'.repeat(900_000);
    const { port } = await startServed(answer(200, `{"title":"${title}","price":1}`, json));
    const client = await connectTo(port);
    client.socket.pause();
    client.send(get('/v1/drinks/7'));
    await eventually(() => expect(client.socket.readableLength >= 0).toBe(true));
    client.socket.resume();
    expect((await client.response()).body.length).toBe(title.length + 26);
  });
});

describe('the fields of an adapted response', () => {
  it('has a weak tag of its own, which the backend never sees', async () => {
    const { backend, port } = await startServed(({ raw }) =>
      /If-None-Match: (W\/)?"a,b"/.test(raw)
        ? 'HTTP/1.1 304 Not Modified\r\nETag: "a,b"\r\nContent-Length: 49\r\n\r\n'
        : answer(
            200,
            cocktail,
            json,
            'ETag: "a,b"',
            'Content-MD5: x',
            'Digest: y',
            'Repr-Digest: z',
            'Content-Digest: z',
            'Accept-Ranges: bytes',
            'Vary: Accept-Language',
          ),
    );
    const first = await ask(
      port,
      get('/v1/drinks/7', 'Range: bytes=0-1', 'If-Range: "x"', 'If-Modified-Since: Mon, 01 Jan 2029 00:00:00 GMT'),
    );
    const tag = 'W/"a,b-abcdef012345"';
    expect(singleValueOf(first, 'etag')).toBe(tag);
    for (const name of ['content-md5', 'digest', 'repr-digest', 'content-digest', 'accept-ranges'])
      expect(valuesOf(first, name)).toEqual([]);
    expect(singleValueOf(first, 'vary')).toBe('Accept-Language');
    expect(backend.request.raw).not.toMatch(/range|modified/i);
    const second = await ask(port, get('/v1/drinks/7', `If-None-Match: "a,b", W/"x-0123456789ab", ${tag}`));
    expect([second.status, second.body, singleValueOf(second, 'etag')]).toEqual([304, '', tag]);
    expect(valuesOf(second, 'content-length')).toEqual([]);
    // A tag of the backend or of a former adapter belongs to another body.
    expect((await ask(port, get('/v1/drinks/7', 'If-None-Match: "a,b"'))).status).toBe(200);
    await ask(port, get('/v1/drinks/7', 'If-None-Match: *'));
    expect(backend.requests.at(-1)?.raw).toMatch(/\r\nIf-None-Match: \*\r\n/);
    await ask(port, get('/v1/drinks/7', 'If-Match: "a,b"'));
    expect(backend.requests.at(-1)?.raw).toMatch(/\r\nIf-Match: W\/""\r\n/);
  });

  it('of HEAD are those of GET, without a length', async () => {
    const { backend, port } = await startServed(
      `HTTP/1.1 200 OK\r\n${json}\r\nContent-Length: 49\r\nETag: "a"\r\n\r\n`,
    );
    const client = await connectTo(port);
    for (const _ of [1, 2]) {
      client.send(message('HEAD /v1/drinks/7 HTTP/1.1', 'Host: a'));
      const response = await client.response('HEAD');
      expect([response.status, singleValueOf(response, 'etag')]).toEqual([200, 'W/"a-abcdef012345"']);
      expect(valuesOf(response, 'content-length')).toEqual([]);
    }
    expect(backend.requests[0]?.raw).toMatch(/^HEAD \/cocktails\/7 /);
  });

  it.each([
    ['/cocktails/7', '/v1/drinks/7'],
    ['/v2/cocktails/7?a=b#c', '/v1/drinks/7?a=b#c'],
    ['http://api.test/v2/cocktails/7', 'http://api.test/v1/drinks/7'],
    ['/v2/cocktails?offset=10&limit=5', '/v1/drinks?from=10&limit=5'],
    ['/cocktails?tag=1&tag=2&x=%31', '/v1/drinks?tag=new&tag=old&x=%31'],
    // v1 has no name for this tag, so its clients cannot ask for it.
    ['/v2/cocktails?tag=3', '/v2/cocktails?tag=3'],
    ['/v2/elsewhere', '/v2/elsewhere'],
    ['/old/cocktails', '/v1/ancient/cocktails'],
    ['https://other.test/v2/cocktails/7', 'https://other.test/v2/cocktails/7'],
    ['7', '7'],
  ])('point to the paths of the adapted version: %s', async (location, expected) => {
    const fields = [`Location: ${location}`, `Content-Location: ${location}`, `Link: <${location}>; rel="next"`];
    const moved = { '/ancient/{name}': '/old/{name}' };
    const { port } = await startServed(answer(200, cocktail, json, ...fields), { version: { moved } });
    const response = await ask(port, get('/v1/drinks/7'));
    expect(singleValueOf(response, 'location')).toBe(expected);
    expect(singleValueOf(response, 'content-location')).toBe(expected);
    expect(valuesOf(response, 'link')[0]).toBe(`<${expected}>; rel="next"`);
  });

  it.each([
    ['/', '/v1'],
    ['/cocktails', '/v1/drinks'],
    ['/v2', '/v1'],
    ['/v2/other', '/v1'],
    ['/v3x', '/v1'],
  ])('have cookies for the version: %s', async (path, expected) => {
    const response = await drinkFrom(answer(200, cocktail, json, `Set-Cookie: a=b; Path=${path}; Secure`));
    expect(singleValueOf(response, 'set-cookie')).toBe(`a=b; Path=${expected}; Secure`);
  });

  it('of an interim response point to the paths of the adapted version, too', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nLink: </cocktails/7>; rel="preload"\r\n\r\n';
    const response = await drinkFrom(early + answer(200, cocktail, json));
    expect(response.interim[0]?.lines).toContain('Link: </v1/drinks/7>; rel="preload"');
    expect(response.body).toBe(drink);
  });

  it('stay in bounds with a version whose prefix is forwarded', async () => {
    const script = answer(200, cocktail, json, 'Location: /v2/cocktails/7', 'Set-Cookie: a=b; Path=/');
    const { backend, port } = await startServed(script, { source: { prefix: 'forward' } });
    const response = await ask(port, get('/v1/drinks/7'));
    expect(backend.request.raw).toMatch(/^GET \/v2\/cocktails\/7 HTTP/);
    expect([singleValueOf(response, 'location'), singleValueOf(response, 'set-cookie')]).toEqual([
      '/v1/drinks/7',
      'a=b; Path=/',
    ]);
  });
});

describe('a query', () => {
  it.each([
    ['', '?limit=5'],
    ['?from=10', '?offset=10&limit=5'],
    ['?a=%C3%A9+b&from=1&from=2&limit=%37', '?a=%C3%A9+b&offset=1&offset=2&limit=%37'],
    ['?__proto__=1&x', '?__proto__=1&x&limit=5'],
    ['?tag=new', '?tag=1&limit=5'],
    ['?tag=new&tag=old', '?tag=1&tag=2&limit=5'],
  ])('%s becomes %s', async (query, expected) => {
    const { backend, port } = await startServed(answer(200, '{"cocktails":[]}', json));
    expect((await ask(port, get(`/v1/drinks${query}`))).body).toBe('{"drinks":[]}');
    expect(backend.request.target).toBe(`/cocktails${expected}`);
  });

  it('with a value that its contract does not allow is answered 400, and the backend is not called', async () => {
    const { backend, port } = await startServed(answer(200, '{"cocktails":[]}', json));
    const refused = await ask(port, get('/v1/drinks?tag=new&tag=unknown'));
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.body)).toMatchObject({
      code: 'BAD_REQUEST',
      detail: 'A parameter of the path or of the query has a value that the contract of this version does not allow.',
    });
    expect(backend.requests).toEqual([]);
  });
});

describe('over HTTP/2', () => {
  it('requests and responses are adapted', async () => {
    const { backend, port } = await startServed(
      ({ raw }) => answer(raw.startsWith('POST') ? 201 : 200, cocktail, json),
      {
        gateway: { h2c: 'on' },
      },
    );
    const session = await connectHttp2(`http://127.0.0.1:${port}`);
    const got = await askHttp2(session, '/v1/drinks/7');
    expect([got.status, got.body, got.headers['content-length']]).toEqual([200, drink, String(drink.length)]);
    const posted = await askHttp2(
      session,
      '/v1/drinks',
      { ':method': 'POST', 'content-type': 'application/json' },
      '{"name":"a"}',
    );
    expect([posted.status, posted.body]).toEqual([201, drink]);
    expect(backend.requests.at(-1)?.raw.endsWith('{"title":"a","glass":"none"}')).toBe(true);
    const head = await askHttp2(session, '/v1/drinks/7', { ':method': 'HEAD' });
    expect([head.status, head.body]).toEqual([200, '']);
    expect((await askHttp2(session, '/v1/search')).status).toBe(410);
  });
});
