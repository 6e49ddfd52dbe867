import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import type { ClientHttp2Session, OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../../gateway/config/load.ts';
import { startGateway } from '../../../../gateway/process/runtime/gateway.ts';
import { type Answer, answer, type Backend, startBackend } from '../../../support/backend.ts';
import { connectSecurely, makePair } from '../../../support/certificates.ts';
import { eventually, settled } from '../../../support/eventually.ts';
import { answerOn, askHttp2, connectHttp2 } from '../../../support/http2Client.ts';
import { connectFrames, endHeaders, headers, pseudo, types } from '../../../support/http2Frames.ts';
import { ask, get } from '../../../support/rawClient.ts';
import { singleValueOf, valuesOf } from '../../../support/response.ts';
import { inFlightAt, startWire, type Wire, type WireSettings, waitingAt } from '../../../support/wire.ts';

interface Http2Wire extends Wire {
  readonly session: ClientHttp2Session;
}

async function startHttp2(script?: Answer, { gateway = {}, ...settings }: WireSettings = {}): Promise<Http2Wire> {
  const wire = await startWire(script, { gateway: { h2c: 'on', ...gateway }, ...settings });
  return { ...wire, session: await connectHttp2(`http://127.0.0.1:${wire.port}`) };
}

const post: OutgoingHttpHeaders = { ':method': 'POST' };

describe('a request over HTTP/2', () => {
  it('reaches the backend as HTTP/1.1, with its fields in order', async () => {
    const { session, backend, port } = await startHttp2();
    const fields = { 'x-b': '1', 'x-a': ['2', '3'], te: 'trailers', accept: '*/*' };
    expect(await askHttp2(session, '/v1/a%2fb?c=%20', fields)).toMatchObject({ status: 200, body: 'ok', code: 0 });
    const { request } = backend;
    expect(request).toMatchObject({ method: 'GET', target: '/a%2fb?c=%20' });
    expect(singleValueOf(request, 'host')).toBe('api.test');
    expect(request.fields.map(([name]) => name).filter((name) => /^x-[ab]$|accept/.test(name))).toEqual([
      'x-b',
      'x-a',
      'x-a',
      'accept',
    ]);
    expect(valuesOf(request, 'te')).toEqual([]);
    expect(singleValueOf(request, 'via')).toMatch(/^2\.0 version-gateway-/);
    expect(singleValueOf(request, 'x-forwarded-proto')).toBe('http');
    expect(singleValueOf(request, 'x-forwarded-port')).toBe(String(port));
  });

  it('has one Cookie field, with all crumbs in order', async () => {
    const { session, backend } = await startHttp2();
    await askHttp2(session, '/v1/x', { cookie: ['a=1', 'b=2; c=3', 'd=4'] });
    expect(singleValueOf(backend.request, 'cookie')).toBe('a=1; b=2; c=3; d=4');
  });

  it.each([
    ['the first request to its backend', 0],
    ['a request on a connection that is reused', 1],
  ])('may have an empty body whose end comes in a DATA frame: %s', async (_case, requestsBefore) => {
    const { session, backend } = await startHttp2();
    for (let count = 0; count < requestsBefore; count += 1) await askHttp2(session, '/v1/x');
    expect(await askHttp2(session, '/v1/x', post, '')).toMatchObject({ status: 200, body: 'ok', code: 0 });
    expect(backend.requests.at(-1)).toMatchObject({ method: 'POST', body: '' });
  });

  it('may have an empty body that ends while the request waits in the queue', async () => {
    const released = Promise.withResolvers<void>();
    const { session, adminPort } = await startHttp2([{ wait: released.promise }, { write: answer(200, 'ok') }], {
      version: { limits: { in_flight: 1, queue: '60s' } },
    });
    const answers = [askHttp2(session, '/v1/x', post, '')];
    await eventually(async () => expect(await inFlightAt(adminPort)).toBe(1));
    answers.push(askHttp2(session, '/v1/x', post, ''));
    await eventually(async () => expect(await waitingAt(adminPort)).toBe(1));
    released.resolve();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('keeps bytes above 127 in fields', async () => {
    const { session, backend } = await startHttp2(answer(200, 'ok', 'X-Answer: \xfc\x80'));
    expect((await askHttp2(session, '/v1/x', { 'x-a': '\xe9\xff' })).headers['x-answer']).toBe('\xfc\x80');
    expect(singleValueOf(backend.request, 'x-a')).toBe('\xe9\xff');
  });

  it.each([
    ['with Content-Length', { 'content-length': 1_000_000 }, 'content-length', '1000000'],
    ['without Content-Length', {}, 'transfer-encoding', 'chunked'],
  ])('has a body %s', async (_name, fields, framing, value) => {
    const { session, backend } = await startHttp2(({ body }) => answer(200, body));
    const body = Buffer.alloc(1_000_000, 'abcdefg').toString();
    const response = await askHttp2(session, '/v1/x', { ...post, ...fields }, body);
    expect(response.body === body).toBe(true);
    expect(singleValueOf(backend.request, framing)).toBe(value);
  });

  it('gets 100 (Continue) if it expects it', async () => {
    const { session } = await startHttp2(({ body }) => answer(200, body));
    const fields = { ...post, ':path': '/v1/x', expect: '100-continue', 'content-length': 2 };
    const stream = session.request(fields, { endStream: false });
    await once(stream, 'continue');
    stream.end('hi');
    expect(await answerOn(stream)).toMatchObject({ status: 200, body: 'hi' });
  });

  it('is not read faster than the backend reads it', async () => {
    const taken: Socket[] = [];
    const stopReading: Answer = [{ take: (socket) => taken.push(socket.removeAllListeners('data').pause()) }];
    const version = { limits: { body: '1GiB' } };
    const { session } = await startHttp2(stopReading, { answerAt: 'head', version });
    const stream = session.request({ ...post, ':path': '/v1/x' }, { endStream: false });
    let written = 0;
    const pour = (): void => {
      if (written === 100) return;
      stream.write(Buffer.alloc(1_000_000), () => {
        written += 1;
        pour();
      });
    };
    pour();
    await eventually(() => expect(taken.length).toBe(1));
    expect(await settled(() => written)).toBeLessThan(40);
    taken[0]?.resume();
    await eventually(() => expect(written).toBe(100));
  });

  it('that is not read blocks no other stream', async () => {
    const { session } = await startHttp2(({ target }) => (target === '/stuck' ? [] : answer(200, 'ok')), {
      version: { limits: { in_flight: 1, queue: '60s' } },
      routes: (url) => ({ '/v2': url }),
    });
    for (let count = 0; count < 50; count += 1) {
      session
        .request({ ...post, ':path': '/v1/stuck' }, { endStream: false })
        .on('error', () => {})
        .write(Buffer.alloc(100_000));
    }
    const response = await askHttp2(session, '/v2/x', post, Buffer.alloc(1_000_000));
    expect(response).toMatchObject({ status: 200, body: 'ok' });
  });

  it('that is reset aborts the request to the backend', async () => {
    const { session, backend, adminPort } = await startHttp2([]);
    const stream = session.request({ ':path': '/v1/x' });
    stream.on('error', () => {});
    await eventually(() => expect(backend.requests.length).toBe(1));
    stream.close(8);
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
    expect(await inFlightAt(adminPort)).toBe(0);
    expect((await askHttp2(session, '/v9/x')).status).toBe(404);
  });

  it('is aborted if the client closes its side of the connection', async () => {
    const { port, backend } = await startHttp2([]);
    const client = await connectFrames(port);
    client.send(headers(1));
    await eventually(() => expect(backend.requests.length).toBe(1));
    client.socket.end();
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
  });

  it('is refused with a problem, and the connection stays open', async () => {
    const { session } = await startHttp2(undefined, { version: { limits: { body: '1KiB' } } });
    const tooLong = await askHttp2(session, '/v1/x', { ...post, 'content-length': 5000 }, 'a'.repeat(5000));
    expect(tooLong).toMatchObject({ status: 413, code: 0 });
    expect(tooLong.headers).toMatchObject({ 'content-type': 'application/problem+json' });
    expect(tooLong.headers['connection']).toBeUndefined();
    const uncounted = await askHttp2(session, '/v1/x', post, 'a'.repeat(100_000));
    expect(uncounted).toMatchObject({ status: 413, code: 0 });
    expect(JSON.parse(uncounted.body)).toMatchObject({ code: 'BODY_TOO_LARGE' });
    expect(await askHttp2(session, '/v1/x', { 'x-a': 'a'.repeat(20_000) })).toMatchObject({ status: 431 });
    expect(await askHttp2(session, `/v1/${'a'.repeat(9000)}`)).toMatchObject({ status: 414 });
    expect(await askHttp2(session, '/v1/x')).toMatchObject({ status: 200 });
  });
});

describe('a response over HTTP/2', () => {
  it('has the fields of the backend in lower case, without those of its connection', async () => {
    const lines = [
      'Set-Cookie: a=1',
      'Set-Cookie: b=2',
      'Connection: x-hop',
      'X-Hop: 1',
      'Keep-Alive: timeout=5',
      'Age: 1',
      'Age: 2',
    ];
    const { session } = await startHttp2(answer(200, 'ok', ...lines));
    const { headers } = await askHttp2(session, '/v1/x');
    expect(headers).toMatchObject({ 'set-cookie': ['a=1', 'b=2'], 'content-length': '2', date: expect.any(String) });
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['x-hop']));
    for (const name of ['connection', 'keep-alive', 'transfer-encoding']) expect(headers[name]).toBeUndefined();
  });

  it('has the lifecycle headers of its version', async () => {
    const { session } = await startHttp2(undefined, {
      version: { deprecation: '2020-01-01' },
      routes: (url) => ({ '/v2': url }),
    });
    const { headers } = await askHttp2(session, '/v1/x');
    expect(headers).toMatchObject({ deprecation: '@1577836800', link: '</v2/x>; rel="successor-version"' });
  });

  it.each([
    [
      'HEAD',
      'HEAD',
      'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n',
      { status: 200, headers: { 'content-length': '7' } },
    ],
    ['204', 'GET', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204 }],
    ['304', 'GET', 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n', { status: 304, headers: { etag: '"a"' } }],
    ['an empty 200', 'GET', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', { status: 200 }],
    ['an empty chunked 200', 'GET', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', { status: 200 }],
  ])('to %s has no body', async (_name, method, script, expected) => {
    const { session } = await startHttp2(script);
    expect(await askHttp2(session, '/v1/x', { ':method': method })).toMatchObject({ body: '', code: 0, ...expected });
  });

  it('passes 103 and trailers on', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n';
    const chunks =
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n';
    const { session } = await startHttp2(early + chunks);
    const response = await askHttp2(session, '/v1/x');
    expect(response).toMatchObject({ status: 200, body: 'ok', trailers: { 'x-sum': '7' } });
    expect(response.interim).toMatchObject([{ ':status': 103, link: '</v1/a>; rel=preload' }]);
  });

  it('streams', async () => {
    let end = (): unknown => undefined;
    const { session } = await startHttp2([
      { write: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n' },
      { take: (socket) => (end = () => socket.write('0\r\n\r\n')) },
    ]);
    const stream = session.request({ ':path': '/v1/x' });
    const [chunk] = (await once(stream, 'data')) as [Buffer];
    expect(chunk.toString()).toBe('early');
    end();
    expect((await answerOn(stream)).code).toBe(0);
  });

  it.each([
    ['with a length', 'Content-Length: 100\r\n\r\nhalf'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
  ])('that breaks off %s resets the stream, and not the connection', async (_name, rest) => {
    const cut = [{ write: `HTTP/1.1 200 OK\r\n${rest}` }, { wait: 20 }, { reset: true }] as const;
    const { port } = await startHttp2(({ target }) => (target === '/cut' ? cut : answer(200, 'ok')));
    const client = await connectFrames(port);
    client.send(headers(1, pseudo({ ':path': '/v1/cut' })));
    expect(await client.outcome(1)).toBe('reset INTERNAL_ERROR');
    client.send(headers(3));
    expect(await client.outcome(3)).toBe('200');
  });

  it('that breaks off hundreds of times does not count against the client', async () => {
    const { session } = await startHttp2(({ target }) =>
      target === '/cut'
        ? [{ write: 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf' }, { reset: true }]
        : answer(200, 'ok'),
    );
    for (let batch = 0; batch < 8; batch += 1) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => askHttp2(session, '/v1/cut')));
      expect(answers.every(({ body }) => body !== 'ok')).toBe(true);
    }
    expect(await askHttp2(session, '/v1/x')).toMatchObject({ status: 200, body: 'ok' });
  });

  it('is not read from the backend faster than the client reads it', async () => {
    let written = 0;
    const pour = (socket: Socket): void => {
      if (written === 100 || !socket.writable) return;
      socket.write(Buffer.alloc(1_000_000), () => {
        written += 1;
        pour(socket);
      });
    };
    const { session } = await startHttp2([
      { write: 'HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n' },
      { take: pour },
    ]);
    const stream = session.request({ ':path': '/v1/x' });
    await once(stream, 'response');
    expect(await settled(() => written)).toBeLessThan(40);
    stream.resume();
    await once(stream, 'end');
    expect(written).toBe(100);
  });

  it.each([
    ['in chunks', '200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n4\r\nhalf\r\n0\r\n\r\n', '200'],
    ['with a length', '200 OK\r\nContent-Length: 4\r\n\r\nhalf', '200'],
    ['without a body', '200 OK\r\nContent-Length: 0\r\n\r\n', '200'],
    ['with a status that has no body', '304 Not Modified\r\n\r\n', '304'],
  ])('that comes before the end of the request is complete, %s', async (_name, rest, status) => {
    const { port } = await startHttp2(`HTTP/1.1 ${rest}`, { answerAt: 'head' });
    const client = await connectFrames(port);
    for (const [stream, method] of [
      [1, 'POST'],
      [3, 'HEAD'],
    ] as const) {
      client.send(headers(stream, [...pseudo({ ':method': method }), ['content-length', '100']], endHeaders));
      expect(await client.outcome(stream)).toBe(status);
      const reset = await client.next((one) => one.type === types.reset && one.stream === stream);
      expect(reset?.payload.readUInt32BE()).toBe(0);
    }
  });

  it('is a public page for discovery', async () => {
    const { session } = await startHttp2();
    const { status, headers, body } = await askHttp2(session, '/');
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/json' });
    expect(JSON.parse(body)).toMatchObject({ latest: 'v1' });
    expect(await askHttp2(session, '/', { ':method': 'HEAD' })).toMatchObject({ status: 200, body: '' });
    expect(await askHttp2(session, '/', post, 'body')).toMatchObject({ status: 405 });
  });
});

describe('a listener', () => {
  async function startTls(gateway: Readonly<Record<string, unknown>>): Promise<{ port: number; backend: Backend }> {
    const backend = await startBackend();
    const folder = mkdtempSync(join(tmpdir(), 'http2-'));
    makePair(folder, 'api');
    const tls = { cert: join(folder, 'api.made.crt'), key: join(folder, 'api.made.key') };
    const routes = { '/v1': backend.url };
    const listeners = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s' };
    const running = await startGateway(snapshotFrom({ routes, gateway: { ...listeners, tls, ...gateway } }));
    onTestFinished(() => running.close());
    return { port: running.port, backend };
  }

  it('with TLS offers HTTP/2 beside HTTP/1.1', async () => {
    const { port, backend } = await startTls({});
    const session = await connectHttp2(`https://127.0.0.1:${port}`);
    expect(await askHttp2(session, '/v1/x')).toMatchObject({ status: 200, body: 'ok' });
    expect(singleValueOf(backend.request, 'x-forwarded-proto')).toBe('https');
    const older = await connectSecurely(port, ['http/1.1']);
    older.write(get('/v1/x'));
    const [bytes] = (await once(older, 'data')) as [Buffer];
    expect(bytes.toString()).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('with TLS and gateway.http2: off offers HTTP/1.1 only', async () => {
    const { port } = await startTls({ http2: 'off' });
    const socket = await connectSecurely(port, ['h2', 'http/1.1']);
    expect(socket.alpnProtocol).toBe('http/1.1');
  });

  it('with gateway.h2c: on still serves HTTP/1.1, however it arrives', async () => {
    const { port, client } = await startHttp2();
    expect((await ask(port, get('/v1/x'))).status).toBe(200);
    await client.sendPieces([...get('/v1/y').slice(0, 10)], 1);
    client.send(get('/v1/y').slice(10));
    expect((await client.response()).status).toBe(200);
    client.send(get('/v1/z'));
    expect((await client.response()).status).toBe(200);
    expect((await ask(port, 'PRI * HTTP/1.1\r\nHost: a\r\n\r\n', 'GET')).status).toBe(400);
  });

  it('refuses HTTP/2 without TLS by default', async () => {
    const { port } = await startWire();
    const response = await ask(port, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'GET');
    expect(response.status).toBeGreaterThanOrEqual(400);
  });
});

describe('a gateway that stops', () => {
  it('answers 503 to streams that it cuts off', async () => {
    const backend = await startBackend([]);
    const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', h2c: 'on' };
    const running = await startGateway(snapshotFrom({ routes: { '/v1': backend.url }, gateway }));
    const session = await connectHttp2(`http://127.0.0.1:${running.port}`);
    const answered = askHttp2(session, '/v1/x');
    await eventually(() => expect(backend.requests.length).toBe(1));
    await running.close();
    expect(await answered).toMatchObject({ status: 503, code: 0 });
  });

  it('sends GOAWAY, and lets open streams finish', async () => {
    let end = (): unknown => undefined;
    const backend = await startBackend(({ target }) =>
      target === '/slow'
        ? [
            { write: 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha' },
            { take: (socket) => (end = () => socket.write('lf')) },
          ]
        : answer(200, 'ok'),
    );
    const routes = { '/v1': backend.url };
    const gateway = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '20s', h2c: 'on' };
    const running = await startGateway(snapshotFrom({ routes, gateway }));
    onTestFinished(() => running.close());
    const session = await connectHttp2(`http://127.0.0.1:${running.port}`);
    const slow = session.request({ ':path': '/v1/slow' });
    const answered = answerOn(slow);
    await once(slow, 'data');
    const gone = once(session, 'goaway');
    const stopped = running.drain(20_000);
    // Until GOAWAY arrives, the client may send requests on this connection.
    expect((await askHttp2(session, '/v1/x')).status).toBe(200);
    expect(await gone).toEqual([0, 2 ** 31 - 1, undefined]);
    end();
    expect(await answered).toMatchObject({ status: 200, body: 'half', code: 0 });
    await stopped;
  });
});
