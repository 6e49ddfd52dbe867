import type { ClientHttp2Session } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { answer, startBackend } from '../../support/backend.ts';
import { eventually } from '../../support/eventually.ts';
import { startTestGateway } from '../../support/gateway.ts';
import { askHttp2, connectHttp2 } from '../../support/http2Client.ts';
import { expectProblem } from '../../support/problem.ts';
import { ask, connectTo, get } from '../../support/rawClient.ts';
import { waitingAt } from '../../support/wire.ts';

/** A gateway whose `/v1` and `/v2` have the same backend. It never answers `/hang`, and answers `/held` when the test releases it. */
async function start(limits: object, { gateway = {}, v2 = { limits } }: { gateway?: object; v2?: object } = {}) {
  const releases: (() => void)[] = [];
  const backend = await startBackend(({ target }) => {
    if (target === '/hang') return [];
    if (target !== '/held') return answer(200, 'ok');
    const { promise, resolve } = Promise.withResolvers<void>();
    releases.push(resolve);
    return [{ wait: promise }, { write: answer(200, 'ok') }];
  });
  const version = { upstream: backend.url, timeouts: { first_byte: '10m' } };
  const started = await startTestGateway(
    { '/v1': { ...version, limits }, '/v2': { ...version, ...v2 } },
    { gateway: { h2c: 'on', ...gateway } },
  );
  const countOf = (path: string): number => backend.requests.filter(({ target }) => target === path).length;
  return { ...started, backend, releases, countOf, connect: () => connectHttp2(started.url) };
}

/** Sends requests. Returns how many of them were answered 503 so far. */
function sendOn(session: ClientHttp2Session, path: string, count: number): () => number {
  let refused = 0;
  for (let number = 0; number < count; number += 1) {
    const stream = session.request({ ':path': path }).on('error', () => {});
    stream.on('response', ({ ':status': status }) => {
      if (status === 503) refused += 1;
    });
  }
  return () => refused;
}

/** Sends requests, each on a connection of its own. Returns how many of them were answered 503 so far. */
async function sendAlone(port: number, path: string, count: number): Promise<() => number> {
  const clients = await Promise.all(Array.from({ length: count }, () => connectTo(port)));
  for (const client of clients) client.send(get(path));
  return () => clients.filter(({ pending }) => pending.startsWith('HTTP/1.1 503 ')).length;
}

describe('HTTP/2 connections whose requests hang', () => {
  it('leave places at a target for others: 20 connections with 100 streams, and the default limit', async () => {
    const { port, countOf, connect } = await start({ queue: '50ms' });
    const sessions: ClientHttp2Session[] = [];
    const refused: (() => number)[] = [];
    while (sessions.length < 20) {
      const session = await connect();
      sessions.push(session);
      refused.push(sendOn(session, '/v2/hang', 100));
      const refusedCount = () => refused.reduce((sum, count) => sum + count(), 0);
      await eventually(() => expect(countOf('/hang') + refusedCount()).toBe(100 * refused.length));
    }
    // A quarter of 2000 is kept for the other version, and a quarter for connections without a request in flight.
    expect(countOf('/hang')).toBe(1010);
    const others = await Promise.all([connect(), connect()]);
    for (const version of ['v1', 'v2']) {
      expect((await ask(port, get(`/${version}/x`))).status).toBe(200);
      for (const session of others) expect((await askHttp2(session, `/${version}/x`)).status).toBe(200);
    }
    // Only their own requests are refused. The first ten have as many streams as a connection may have.
    const own = await Promise.all(sessions.slice(10).map((session) => askHttp2(session, '/v2/x')));
    expect(new Set(own.map(({ status }) => status))).toEqual(new Set([503]));
  });

  it.each([
    ['in_flight_per_target', 20, 15],
    ['in_flight', 20, 15],
    ['in_flight', 7, 6],
    ['in_flight_per_target', 3, 3],
    ['in_flight_per_target', 1, 1],
  ])('get three quarters of %s: %i at most, one connection alone', async (limit, count, expected) => {
    const { countOf, connect } = await start({ [limit]: count, queue: 'off' }, { v2: { retired: true } });
    const refused = sendOn(await connect(), '/v1/hang', 50);
    await eventually(() => expect([refused(), countOf('/hang')]).toEqual([50 - expected, expected]));
  });

  it('do not count what the connection has at another target', async () => {
    const other = await startBackend([]);
    const { url } = await startTestGateway(
      {
        '/v1': {
          upstream: (await startBackend()).url,
          limits: { in_flight_per_target: 4, in_flight: 4, queue: 'off' },
        },
        '/v2': other.url,
      },
      { gateway: { h2c: 'on' } },
    );
    const session = await connectHttp2(url);
    sendOn(session, '/v2/hang', 50);
    await eventually(() => expect(other.requests).toHaveLength(50));
    expect((await askHttp2(session, '/v1/x')).status).toBe(200);
  });

  it('may take all places if they come from a trusted proxy, which carries the requests of many clients', async () => {
    const gateway = { trusted_proxies: ['loopback'] };
    const v2 = { retired: true };
    const { countOf, connect } = await start({ in_flight_per_target: 20, queue: 'off' }, { gateway, v2 });
    const refused = sendOn(await connect(), '/v1/hang', 50);
    await eventually(() => expect([refused(), countOf('/hang')]).toEqual([30, 20]));
  });

  it('are overtaken in the queue by requests of other connections, and go on when one of their own ends', async () => {
    const { adminPort, port, backend, releases, countOf, connect } = await start({ in_flight: 4, queue: '60s' });
    const session = await connect();
    sendOn(session, '/v1/held', 3);
    await eventually(() => expect(countOf('/held')).toBe(3));
    const over = askHttp2(session, '/v1/over');
    await eventually(async () => expect(await waitingAt(adminPort)).toBe(1));
    // The last place.
    await sendAlone(port, '/v1/held', 1);
    await eventually(() => expect(countOf('/held')).toBe(4));
    const overtaking = ask(port, get('/v1/overtaking'));
    await eventually(async () => expect(await waitingAt(adminPort)).toBe(2));
    const [ofSession, , , ofOther] = releases;
    ofOther?.();
    expect((await overtaking).status).toBe(200);
    expect(countOf('/over')).toBe(0);
    ofSession?.();
    expect((await over).status).toBe(200);
    expect(backend.requests.slice(-2).map(({ target }) => target)).toEqual(['/overtaking', '/over']);
  });

  it('do not fill the queue: a request of another connection still waits', async () => {
    const { adminPort, port, countOf, connect } = await start({ in_flight: 1, queue: '60s' });
    const blocking = await connectTo(port);
    blocking.send(get('/v1/hang'));
    await eventually(() => expect(countOf('/hang')).toBe(1));
    const sessions = await Promise.all(Array.from({ length: 15 }, connect));
    for (const session of sessions) sendOn(session, '/v1/x', 90);
    let waiting = 0;
    await eventually(async () => {
      const before = waiting;
      waiting = (await waitingAt(adminPort)) ?? 0;
      expect([before === waiting, waiting >= 750]).toEqual([true, true]);
    });
    expect(waiting).toBeLessThan(800);
    const last = await connectTo(port);
    last.send(get('/v1/x'));
    await eventually(async () => expect(await waitingAt(adminPort)).toBe(waiting + 1));
  });
});

describe('versions that share a target', () => {
  it.each([
    ['on connections of their own', false],
    ['of a trusted proxy', true],
  ])('keep places for each other, although requests to one of them hang: %s', async (_what, isProxied) => {
    const gateway = isProxied ? { trusted_proxies: ['loopback'] } : {};
    const { port, countOf, connect } = await start({ in_flight_per_target: 20, queue: 'off' }, { gateway });
    const refused = isProxied ? sendOn(await connect(), '/v2/hang', 40) : await sendAlone(port, '/v2/hang', 40);
    // A quarter of 20 is kept for the other version.
    await eventually(() => expect([refused(), countOf('/hang')]).toEqual([25, 15]));
    expectProblem(await ask(port, get('/v2/x')), 503);
    for (let time = 0; time < 20; time += 1) expect((await ask(port, get('/v1/x'))).status).toBe(200);
    const more = await sendAlone(port, '/v1/hang', 8);
    await eventually(() => expect([more(), countOf('/hang')]).toEqual([3, 20]));
    expectProblem(await ask(port, get('/v1/x')), 503);
  });

  it('keep no places for a tombstone, and none of a limit that is too small to be divided', async () => {
    const backend = await startBackend([]);
    const version = { upstream: backend.url, limits: { in_flight_per_target: 8, queue: 'off' } };
    const { port } = await startTestGateway({ '/v1': { ...version, retired: true }, '/v2': version });
    const refused = await sendAlone(port, '/v2/hang', 12);
    await eventually(() => expect([refused(), backend.requests.length]).toEqual([4, 8]));

    const small = await start({ in_flight_per_target: 3, queue: 'off' });
    const more = await sendAlone(small.port, '/v2/hang', 5);
    await eventually(() => expect([more(), small.countOf('/hang')]).toEqual([2, 3]));
  });
});
