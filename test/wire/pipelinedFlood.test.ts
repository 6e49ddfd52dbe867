import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../config/temporary.ts';
import { answer, startBackend } from '../support/backend.ts';
import { connectSecurely, makePair } from '../support/certificates.ts';
import { eventually, settled } from '../support/eventually.ts';
import { startTestGateway, type TestSettings } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { connectTo, get, message, post, RawClient } from '../support/rawClient.ts';
import { valuesOf } from '../support/response.ts';

// Thousands of answers, on a machine that may be busy.
const count = 3_000;

/** A gateway whose backend answers `/slow` after `open()`, and everything else at once with its target and body. */
async function startGated(settings?: TestSettings) {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let seen = 0;
  let answered = 0;
  let left = 0;
  const server = createServer(async (req, res) => {
    if (req.url === '/slow') {
      seen += 1;
      res.on('close', () => {
        left += Number(!res.writableFinished);
      });
      await opened;
    }
    let body = '';
    // In some of these tests the client disconnects within its body.
    await (async () => {
      for await (const chunk of req) body += chunk;
    })().catch(() => {});
    res.end(`${req.url} ${body}`);
    answered += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const gateway = await startTestGateway({ '/v1': `http://127.0.0.1:${port}` }, settings);
  return { port: gateway.port, open, seen: () => seen, left: () => left, answered: () => answered };
}

/** Sends `wanted` after a slow request. Returns the bodies of the answers in order. */
async function bodiesBehindSlow(client: RawClient, wanted: readonly string[], open: () => void): Promise<string[]> {
  client.send(get('/v1/slow') + wanted.join(''));
  await eventually(() => expect(client.socket.writableLength).toBe(0));
  open();
  const bodies: string[] = [];
  for (const bytes of ['GET', ...wanted]) {
    bodies.push((await client.response(bytes.slice(0, bytes.indexOf(' ')))).body);
  }
  return bodies.slice(1);
}

const mixed = Array.from({ length: count }, (_, number) =>
  number % 3 === 0 ? post(`/v1/${number}`, `GET /smuggled-${number} `.repeat(number % 50)) : get(`/v1/${number}`),
);
const mixedBodies = Array.from({ length: count }, (_, number) =>
  number % 3 === 0 ? `/${number} ${`GET /smuggled-${number} `.repeat(number % 50)}` : `/${number} `,
);

describe('thousands of requests after a slow one', () => {
  it('are answered in their order, with their bodies', async () => {
    const { port, open } = await startGated();
    expect(await bodiesBehindSlow(await connectTo(port), mixed, open)).toEqual(mixedBodies);
  });

  it('are answered in their order over TLS', async () => {
    const folder = temporaryFolder();
    const pair = makePair(folder, 'api.test');
    const tls = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
    writeFileSync(tls.cert, pair.cert);
    writeFileSync(tls.key, pair.key);
    const { port, open } = await startGated({ gateway: { tls } });
    const client = new RawClient(await connectSecurely(port));
    expect(await bodiesBehindSlow(client, mixed, open)).toEqual(mixedBodies);
  });

  it('are answered in their order to a client that reads late', async () => {
    const { port, open, answered } = await startGated();
    const client = await connectTo(port);
    client.socket.pause();
    client.send(get('/v1/slow') + mixed.join(''));
    open();
    await settled(answered);
    client.socket.resume();
    await client.response();
    for (const [number, body] of mixedBodies.entries()) {
      expect((await client.response(number % 3 === 0 ? 'POST' : 'GET')).body).toBe(body);
    }
  });

  it('leave the connection usable', async () => {
    const { port, open } = await startGated();
    const client = await connectTo(port);
    await bodiesBehindSlow(client, mixed.slice(0, 100), open);
    const large = 'x'.repeat(500_000);
    client.send(post('/v1/large', large));
    expect((await client.response('POST')).body).toBe(`/large ${large}`);
    client.send(get('/v1/last'));
    expect((await client.response()).body).toBe('/last ');
  });

  it('do not prevent an upgrade after them', async () => {
    const backend = await startBackend(({ target }) =>
      target === '/chat'
        ? [
            { write: message('HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: echo') },
            { take: (socket) => void socket.on('data', (data) => socket.end(`tunnel ${data}`)) },
          ]
        : answer(200, target),
    );
    const { port } = await startTestGateway({ '/v1': backend.url });
    const client = await connectTo(port);
    const requests = Array.from({ length: 100 }, (_, number) => get(`/v1/${number}`));
    client.send(`${requests.join('')}${get('/v1/chat', 'Connection: Upgrade', 'Upgrade: echo')}hello`);
    for (const [number] of requests.entries()) expect((await client.response()).body).toBe(`/${number}`);
    expect((await client.response()).status).toBe(101);
    expect(await client.bytes(12)).toBe('tunnel hello');
  });

  it('do not prevent the refusal of a malformed request after them', async () => {
    const { port, open } = await startGated();
    const client = await connectTo(port);
    const bodies = await bodiesBehindSlow(
      client,
      [...mixed.slice(0, 100), 'GET /v1/x HTTP/1.1\r\nX A: b\r\n\r\n'],
      open,
    ).catch(() => undefined);
    expect(bodies?.slice(0, 100)).toEqual(mixedBodies.slice(0, 100));
    expect((await client.closed()).leftover).toBe('');
  });

  it.each(['reset', 'end'] as const)('do not prevent a disconnect by %s', async (how) => {
    const { port, left } = await startGated();
    const client = await connectTo(port);
    client.send(get('/v1/slow') + get('/v1/x').repeat(500));
    await eventually(() => expect(client.socket.writableLength).toBe(0));
    if (how === 'reset') client.reset();
    else client.end();
    await eventually(() => expect(left()).toBe(1));
  });

  it('slow down a client that keeps sending', async () => {
    const { port } = await startGated();
    const client = await connectTo(port);
    client.send(get('/v1/slow'));
    const many = Buffer.from(get('/v1/x').repeat(10_000));
    let accepted = 0;
    const more = (): void =>
      void client.socket.write(many, (error) => {
        if (error) return;
        accepted += many.length;
        more();
      });
    more();
    // Two socket buffers in between take some MiB. A gateway that read on would take all there is.
    let last = -1;
    let still = 0;
    await eventually(() => {
      still = last === accepted ? still + 1 : 0;
      last = accepted;
      expect(still).toBeGreaterThan(50);
    });
    expect(client.isClosed).toBe(false);
    expect(accepted).toBeLessThan(64 * 2 ** 20);
  });
});

describe('what all connections together have pipelined', () => {
  // The room for requests that wait is charged with what their bodies may take.
  const large = message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 1000000');

  it('has a limit: beyond it a request is answered 503, and ends its connection', async () => {
    const { port, open, seen } = await startGated();
    const clients: RawClient[] = [];
    for (let number = 0; number < 600; number += 1) {
      const client = await connectTo(port);
      client.send(get('/v1/slow') + large);
      clients.push(client);
    }
    const late = clients.at(-1) as RawClient;
    late.send('x'.repeat(100_000));
    await eventually(() => expect(seen()).toBe(clients.length));
    open();
    expect((await late.response()).status).toBe(200);
    const refusal = await late.response('POST');
    expect(expectProblem(refusal, 503)['code']).toBe('OVERLOADED');
    expect(valuesOf(refusal, 'connection')).toEqual(['close']);
    expect((await late.closed()).leftover).toBe('');
    // The first ones had room.
    const [early] = clients as [RawClient];
    expect((await early.response()).status).toBe(200);
    early.send('x'.repeat(1_000_000));
    expect((await early.response('POST')).status).toBe(200);

    for (const client of clients) client.reset();
    await eventually(async () => {
      const client = await connectTo(port);
      client.send(get('/v1/a') + get('/v1/b') + post('/v1/c', 'body'));
      for (const method of ['GET', 'GET', 'POST']) expect((await client.response(method)).status).toBe(200);
    });
  });
});
