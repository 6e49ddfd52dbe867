import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { snapshotFrom } from '../../../gateway/config/load.ts';
import { DataPlane } from '../../../gateway/process/runtime/dataPlane.ts';
import { closeListener, createClientListener, listen, portOf } from '../../../gateway/proxy/pipeline/clientListener.ts';
import type { ExchangeRecord } from '../../../gateway/usage/observability/exchangeRecord.ts';
import { temporaryFolder } from '../../config/temporary.ts';
import { type Answer, answer, startBackend } from '../../support/backend.ts';
import { connectSecurely, makePair } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { expectProblem } from '../../support/problem.ts';
import { chunked, connectTo, get, post, RawClient } from '../../support/rawClient.ts';

interface Started {
  readonly port: number;
  readonly server: Server;
  readonly records: readonly ExchangeRecord[];
  /** How many requests node:http has read. */
  byNode(): number;
  connections(): Promise<number>;
}

/** A gateway with the fast lane. `version`: more settings of /v1. */
async function start(
  script: Answer,
  gateway: Record<string, unknown> = {},
  version: Record<string, unknown> = {},
): Promise<Started> {
  const backend = await startBackend(script);
  const snapshot = snapshotFrom({
    routes: { '/v1': { upstream: backend.url, ...version } },
    gateway: { listen: '127.0.0.1:0', fast_lane: 'auto', ...gateway },
  });
  const dataPlane = new DataPlane(snapshot);
  const records: ExchangeRecord[] = [];
  dataPlane.context.recorder = { record: (exchange) => void records.push(exchange) };
  const server = createClientListener(snapshot.gateway, dataPlane.context);
  let requests = 0;
  server.prependListener('request', () => {
    requests += 1;
  });
  await listen(server, snapshot.gateway.listen);
  onTestFinished(async () => {
    dataPlane.close();
    await closeListener(server);
  });
  const connections = (): Promise<number> =>
    new Promise((resolve, reject) => {
      server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  return { port: portOf(server), server, records, byNode: () => requests, connections };
}

const ok = answer(200, 'ok');

/** Socket handles whose reads node cannot direct into a buffer. */
function withoutUserBuffers(server: Server): void {
  server.prependListener('connection', (socket: Socket & { _handle?: { useUserBuffer?: unknown } | null }) => {
    if (!socket._handle?.useUserBuffer) throw new Error('node has no useUserBuffer: the test hides nothing');
    socket._handle.useUserBuffer = undefined;
  });
}

it.each([
  ['a shared buffer', false],
  ['data events, if node supports no shared buffer', true],
])('reads plain requests with %s, and leaves the connection to node for any other', async (_name, hidden) => {
  const { port, server, byNode, connections } = await start(({ body }) => answer(200, `${body.length}`));
  if (hidden) withoutUserBuffers(server);
  const client = await connectTo(port);
  for (const size of [0, 3, 200_000]) {
    client.send(post('/v1/a', 'x'.repeat(size)));
    expect((await client.response('POST')).body).toBe(`${size}`);
  }
  expect([byNode(), await connections()]).toEqual([0, 1]);
  client.send(chunked('/v1/a', '3\r\nabc\r\n0\r\n\r\n'));
  expect((await client.response('POST')).body).toBe('3');
  client.send(get('/v1/a'));
  expect((await client.response()).body).toBe('0');
  expect([byNode(), await connections()]).toEqual([2, 1]);
  client.end();
  await client.closed();
  await eventually(async () => expect(await connections()).toBe(0));
});

it.each([
  ['a shared buffer', false],
  ['data events', true],
])('carries a tunnel that was opened behind a plain request, with %s', async (_name, hidden) => {
  const script: Answer = ({ target }) =>
    target === '/plain'
      ? ok
      : [
          { write: 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n' },
          {
            take: (socket, early) =>
              void socket
                .on('data', (bytes) => socket.write(bytes))
                .on('end', () => socket.end())
                .write(`early:${early}`),
          },
        ];
  const { port, server } = await start(script);
  if (hidden) withoutUserBuffers(server);
  const client = await connectTo(port);
  client.send(get('/v1/plain'));
  expect((await client.response()).status).toBe(200);
  client.send(`${get('/v1/echo', 'Connection: Upgrade', 'Upgrade: echo')}first`);
  expect((await client.response()).status).toBe(101);
  expect(await client.bytes('early:first'.length)).toBe('early:first');
  const sent = 'abcdefgh'.repeat(40_000);
  client.send(sent);
  expect(await client.bytes(sent.length)).toBe(sent);
});

it('reads plain requests over TLS', async () => {
  const folder = temporaryFolder();
  makePair(folder, 'api');
  const tls = { cert: join(folder, 'api.made.crt'), key: join(folder, 'api.made.key') };
  const { port, byNode, records } = await start(({ body }) => answer(200, `${body.length}`), { tls });
  const client = new RawClient(await connectSecurely(port));
  for (const size of [0, 3, 200_000]) {
    client.send(post('/v1/a', 'x'.repeat(size)));
    expect((await client.response('POST')).body).toBe(`${size}`);
  }
  expect(byNode()).toBe(0);
  client.send(chunked('/v1/a', '3\r\nabc\r\n0\r\n\r\n'));
  expect((await client.response('POST')).body).toBe('3');
  expect(byNode()).toBe(1);
  await eventually(() => expect(records.map(({ scheme }) => scheme)).toEqual(Array(4).fill('https')));
});

it('records bytes, status and an early end of the client', async () => {
  const never = Promise.withResolvers<void>();
  const { port, records } = await start(({ target }) =>
    target === '/slow' ? [{ wait: never.promise }] : answer(201, 'four'),
  );
  const client = await connectTo(port);
  client.send(post('/v1/a', 'abc'));
  await client.response('POST');
  client.send(get('/v1/slow'));
  await eventually(() => expect(records).toHaveLength(1));
  client.end();
  await client.closed();
  await eventually(() => expect(records).toHaveLength(2));
  expect(records[0]).toMatchObject({ status: 201, bytesIn: 3, bytesOut: 4, served: true, fault: undefined });
  expect(records[1]).toMatchObject({ status: 499, served: false, fault: 'client', cause: 'the client left' });
});

it.each([1, 300, 8_192, 8_193])('forwards a body of %i bytes that arrives with its head', async (size) => {
  // All byte values.
  const body = String.fromCharCode(...Array.from({ length: size }, (_, at) => (at * 7 + (at >> 8)) & 0xff));
  const { port, records } = await start(({ body: received }) => answer(200, received));
  const client = await connectTo(port);
  for (let count = 0; count < 3; count += 1) {
    client.send(post('/v1/a', body));
    expect((await client.response('POST')).body).toBe(body);
  }
  await eventually(() => expect(records.map(({ bytesIn }) => bytesIn)).toEqual([size, size, size]));
});

it('sends a body that arrived with its head to the next target if the first one cannot be reached', async () => {
  const open = await startBackend(({ body }) => answer(200, body));
  const { port, records } = await start(
    ok,
    {},
    { upstream: ['http://127.0.0.1:1', open.url], retries: { attempts: 2 } },
  );
  const client = await connectTo(port);
  for (let count = 0; count < 4; count += 1) {
    client.send(post('/v1/a', 'abc'));
    expect((await client.response('POST')).body).toBe('abc');
  }
  await eventually(() => expect(records.map(({ bytesIn }) => bytesIn)).toEqual([3, 3, 3, 3]));
  expect(records.some(({ retries: count }) => count === 1)).toBe(true);
});

it('keeps the connection open if a body that arrived with its head could not be sent', async () => {
  const { port, records } = await start(ok, {}, { upstream: 'http://127.0.0.1:1' });
  const client = await connectTo(port);
  for (let count = 0; count < 2; count += 1) {
    client.send(post('/v1/a', 'abc'));
    expectProblem(await client.response('POST'), 502);
  }
  await eventually(() => expect(records.map(({ bytesIn }) => bytesIn)).toEqual([0, 0]));
});

it('records that a client has left although bytes wait behind its request', async () => {
  const never = Promise.withResolvers<void>();
  const { port, records } = await start([{ wait: never.promise }]);
  const client = await connectTo(port);
  await client.sendPieces([get('/v1/slow'), get('/v1/next')], 100);
  client.end();
  await eventually(() => expect(records).toHaveLength(1));
  expect(records[0]).toMatchObject({ status: 499, fault: 'client', path: '/v1/slow' });
});

it('records that a client left after its body was sent, before a target was chosen', async () => {
  const never = Promise.withResolvers<void>();
  const limits = { in_flight: 1, queue: '60s' };
  const { port, records } = await start([{ wait: never.promise }], {}, { limits });
  const first = await connectTo(port);
  first.send(get('/v1/first'));
  const second = await connectTo(port);
  const text = post('/v1/second', 'abc');
  await second.sendPieces([text.slice(0, -2), text.slice(-2)], 100);
  second.end();
  await eventually(() => expect(records.map(({ path, status }) => [path, status])).toEqual([['/v1/second', 499]]));
});

it('records that a client left while its connection was not read', async () => {
  const released = Promise.withResolvers<void>();
  const { port, records } = await start([{ wait: released.promise }, { write: ok }]);
  const client = await connectTo(port);
  // The gateway keeps at most 64 KiB behind a request in flight, and then stops reading.
  await client.sendPieces([get('/v1/slow'), 'x'.repeat(200_000)], 100);
  client.socket.resetAndDestroy();
  await client.closed();
  released.resolve();
  await eventually(() => expect(records).toHaveLength(1));
  expect(records[0]).toMatchObject({ fault: 'client', cause: 'the client left' });
});

it('does not give more time for the first head because node reads the end of it', async () => {
  const { port } = await start(ok, { timeouts: { head: '2s' } });
  const early = await connectTo(port);
  await sleep(1_500);
  const late = await connectTo(port);
  for (const client of [early, late]) client.send('GET /v1/a HTTP/1.1\r\n');
  expectProblem(await early.response(), 408);
  // If the time began with the first byte, both would be answered now.
  expect(late.pending).toBe('');
  expectProblem(await late.response(), 408);
});

it('closes connections that are idle between requests, but not before the first one', async () => {
  const { port, server, connections } = await start(ok);
  const [used, fresh] = [await connectTo(port), await connectTo(port)];
  used.send(get('/v1/a'));
  await used.response();
  server.closeIdleConnections();
  await used.closed();
  await eventually(async () => expect(await connections()).toBe(1));
  expect(fresh.isClosed).toBe(false);
  fresh.send(get('/v1/a'));
  expect((await fresh.response()).status).toBe(200);
});

it('applies a changed limit for clients that do not read to the next request', async () => {
  const { port, server, records } = await start(({ target }) =>
    answer(200, target === '/big' ? 'x'.repeat(2e7) : 'ok'),
  );
  const client = await connectTo(port);
  client.send(get('/v1/a'));
  await client.response();
  server.timeout = 300;
  client.socket.pause();
  client.send(get('/v1/big'));
  await eventually(() => expect(records).toHaveLength(2));
  expect(records[1]).toMatchObject({ status: 200, fault: 'client' });
});

it('closes silent connections without a keep-alive or head timeout after the limit for clients that do not read', async () => {
  const { port, server, records } = await start(ok);
  Object.assign(server, { keepAliveTimeout: 0, headersTimeout: 0, timeout: 300 });
  const [used, fresh] = [await connectTo(port), await connectTo(port)];
  used.send(get('/v1/a'));
  expect((await used.response()).status).toBe(200);
  await Promise.all([used.closed(), fresh.closed()]);
  expect(records).toHaveLength(1);
});

it('keeps single bytes behind a request in flight in their order', async () => {
  const released = Promise.withResolvers<void>();
  const { port } = await start(({ target, body }) =>
    target === '/slow' ? [{ wait: released.promise }, { write: ok }] : answer(200, target + body),
  );
  const client = await connectTo(port);
  const behind = post('/v1/one', 'x'.repeat(300)) + get('/v1/two');
  await client.sendPieces([get('/v1/slow'), ...behind], 0);
  released.resolve();
  expect((await client.response()).body).toBe('ok');
  expect((await client.response('POST')).body).toBe(`/one${'x'.repeat(300)}`);
  expect((await client.response()).body).toBe('/two');
});

it('counts towards the largest number of connections', async () => {
  const { port, server } = await start(ok);
  server.maxConnections = 1;
  const first = await connectTo(port);
  first.send(get('/v1/a'));
  await first.response();
  const dropped = once(server, 'drop');
  const second = await connectTo(port);
  await dropped;
  await second.closed();
  first.end();
  await first.closed();
  await eventually(async () => {
    const third = await connectTo(port);
    third.send(get('/v1/a'));
    expect((await third.response()).status).toBe(200);
  });
});
