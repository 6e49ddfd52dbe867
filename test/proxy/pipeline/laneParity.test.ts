import { expect, it } from 'vitest';
import { otherRequests, plainRequests } from '../../http1/requestCorpus.ts';
import { randomHeads } from '../../http1/responseHeads.ts';
import { anonymous } from '../../support/anonymous.ts';
import { type Answer, answer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { Random } from '../../support/random.ts';
import { chunked, connectTo, get, message, post, type RawClient } from '../../support/rawClient.ts';

// The same bytes are sent to a gateway with the fast lane and to one without it. Clients and backends must not see a
// difference.

const last = get('/v1/last', 'Connection: close');
const one = get('/v1/one');

interface Seen {
  readonly client: string;
  readonly backend: string;
}

/** What a client and the backend receive, without what differs between any two gateways. */
async function seen(mode: 'auto' | 'off', script: Answer, talk: (client: RawClient) => unknown): Promise<Seen> {
  const backend = await startBackend(script);
  const routes = {
    '/v1': { upstream: backend.url, deprecation: '2026-01-01', limits: { body: '100KiB' } },
    '/v2': backend.url,
  };
  const gateway = { fast_lane: mode, timeouts: { body_idle: '5s' } };
  const { port } = await startTestGateway(routes, { gateway, now: '2026-10-01T00:00:00Z' });
  const client = await connectTo(port);
  let received = '';
  client.socket.on('data', (bytes: Buffer) => {
    received += bytes.toString('latin1');
  });
  await talk(client);
  await client.closed();
  return { client: anonymous(received, port), backend: anonymous(backend.bytes, port) };
}

async function expectParity(script: Answer, talk: (client: RawClient) => unknown): Promise<Seen> {
  const [lane, node] = await Promise.all([seen('auto', script, talk), seen('off', script, talk)]);
  expect(lane).toEqual(node);
  return lane;
}

const methodOf = (text: string): string => text.slice(0, text.indexOf(' '));
const shown = (text: string): string => JSON.stringify(text).slice(0, 120);

it.each(plainRequests.map((text) => [shown(text), text]))('answers %s', async (_name, text) => {
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
  const missing = Math.max(0, text.indexOf('\r\n\r\n') + 4 + length - text.length);
  const { backend } = await expectParity(answer(200, 'ok', 'Content-Type: text/plain'), async (client) => {
    client.send(text);
    if (missing > 0) client.send('x'.repeat(missing));
    expect((await client.response(methodOf(text))).status).toBe(200);
    client.send(last);
  });
  expect(backend).toContain('GET /last HTTP/1.1');
});

it.each(otherRequests.map((text) => [shown(text), text]))('after a plain request, answers %s', async (_name, text) => {
  await expectParity(answer(200, 'ok'), async (client) => {
    client.send(one);
    await client.response();
    client.send(text);
    client.send(last + last);
  });
});

it.each([
  ['a response with a length', answer(200, 'a'.repeat(300_000), 'Content-Type: text/plain')],
  ['a chunked response', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'],
  [
    'trailers',
    'HTTP/1.1 200 OK\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\nHost: 2\r\n\r\n',
  ],
  ['a response that ends with the connection', [{ write: 'HTTP/1.1 200 OK\r\n\r\nabc' }, { end: true }]],
  ['an empty reason', 'HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok'],
  ['a 204', 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n'],
  ['a 304', 'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\nContent-Length: 7\r\n\r\n'],
  ['a redirect', answer(302, '', 'Location: /x', 'Set-Cookie: a=b; Path=/', 'Link: </y>; rel=next')],
  ['early hints', `HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n${answer(200, 'ok')}`],
  ['an unregistered 1xx', `HTTP/1.1 150 Later\r\nX-A: b\r\n\r\n${answer(200, 'ok')}`],
  ['bytes above ASCII', answer(200, '\xe9\xff', 'X-Name: caf\xe9', 'Content-Disposition: attachment; filename="\xe9"')],
  ['a date', answer(200, 'ok', 'Date: Fri, 30 Oct 2026 23:59:59 GMT', 'Access-Control-Allow-Origin: *')],
  [
    'a response in parts',
    [{ write: 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc' }, { wait: 20 }, { write: 'def' }],
  ],
  ['a malformed response', 'HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n'],
  ['no response', [{ end: true }]],
  ['a response that is cut off', [{ write: 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc' }, { reset: true }]],
] as [string, Answer][])('passes on %s', async (_name, script) => {
  for (const method of ['GET', 'HEAD', 'OPTIONS']) {
    await expectParity(script, async (client) => {
      client.send(message(`${method} /v1/a HTTP/1.1`, 'Host: a', 'Origin: https://app.test'));
      await client.response(method).catch(() => undefined);
      client.send(last);
    });
  }
});

it('passes on heads that a backend repeats in random order', async () => {
  const heads = randomHeads(new Random(1), 40, { specials: false });
  const script: Answer = ({ target, method, body }) => {
    const head = heads[Number(target.slice(1))] as string;
    const hasBody = method !== 'HEAD' && !/ (?:204|304) /.test(head);
    return hasBody ? `${head}${body || 'ok'}` : head;
  };
  await expectParity(script, async (client) => {
    const random = new Random(2);
    for (let count = 0; count < 200; count += 1) {
      const method = random.of(['GET', 'GET', 'HEAD']);
      const line = `${method} /v${1 + random.below(2)}/${random.below(heads.length)} HTTP/1.1`;
      client.send(message(line, `Host: ${random.of(['a', 'b'])}`));
      await client.response(method);
    }
    client.send(get('/v1/0', 'Connection: close'));
  });
});

it.each([
  ['an unknown path below a version is forwarded', get('/v2/none')],
  ['a body that is too large', post('/v1/a', 'x'.repeat(200_000))],
  ['a dot segment', get('/v1/../x')],
  ['an invalid Host', message('GET /v1/a HTTP/1.1', 'Host: a b')],
  ['OPTIONS with Max-Forwards', message('OPTIONS /v1/a HTTP/1.1', 'Host: a', 'Max-Forwards: 0')],
  ['a path that begins with two slashes', get('/v1//evil.example/')],
  ['an unknown version', get('/v9/a')],
  ['the index', get('/')],
])('answers %s', async (_name, text) => {
  await expectParity(answer(200, 'ok'), async (client) => {
    client.send(text);
    await client.response(methodOf(text));
    client.send(last);
  });
});

it('forwards a body in pieces, and a chunked request and an upgrade after it', async () => {
  const body = 'abcdefghij'.repeat(5_000);
  const { backend } = await expectParity(
    ({ body: received }) => answer(200, `${received.length}`),
    async (client) => {
      const text = post('/v1/a', body);
      await client.sendPieces([
        text.slice(0, 200),
        text.slice(200, 9_000),
        text.slice(9_000, 30_000),
        text.slice(30_000),
      ]);
      expect((await client.response('POST')).body).toBe('50000');
      client.send(chunked('/v1/b', '3\r\nabc\r\n0\r\n\r\n'));
      expect((await client.response('POST')).body).toBe('3');
      client.send(get('/v1/c', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'));
    },
  );
  expect(backend).toContain(body);
});

it('answers what is pipelined behind a request in flight, in order', async () => {
  const released = Promise.withResolvers<void>();
  const arrived: string[] = [];
  const script: Answer = ({ target, body }) => {
    arrived.push(target);
    return [...(target === '/slow' ? [{ wait: released.promise }] : []), { write: answer(200, target + body) }];
  };
  await expectParity(script, async (client) => {
    client.send(post('/v1/slow', '0123456789').slice(0, -4));
    client.send('6789');
    await eventually(() => expect(arrived.filter((target) => target === '/slow').length).toBe(2));
    client.send(post('/v1/two', 'x'.repeat(2_000)) + get('/v1/three'));
    client.send(chunked('/v1/four', '1\r\na\r\n0\r\n\r\n') + last);
    released.resolve();
    expect((await client.response('POST')).body).toBe('/slow0123456789');
    expect((await client.response('POST')).body).toBe(`/two${'x'.repeat(2_000)}`);
    expect((await client.response()).body).toBe('/three');
    expect((await client.response('POST')).body).toBe('/foura');
  });
});

it.each([
  ['within a body', post('/v1/a', '0123456789').slice(0, -4)],
  ['within a head', 'GET /v1/a HTTP/1.1\r\nHost'],
  ['after a request', ''],
])('handles a client that closes its side %s', async (_name, text) => {
  await expectParity(answer(200, 'ok'), async (client) => {
    client.send(one);
    await client.response();
    client.send(text);
    client.end();
  });
});
