import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ConnectionPool } from '../../../gateway/http1/connectionPool.ts';
import { NamedConnections } from '../../../gateway/proxy/upstream/namedConnections.ts';
import { type ResolvedAddress, systemResolve } from '../../../gateway/proxy/upstream/nameResolution.ts';
import { exchange } from '../../http1/backend.ts';
import { eventually } from '../../support/eventually.ts';

// Only timers are faked, so that a test decides when names are resolved periodically; sockets use real time.
beforeAll(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
});
afterAll(() => {
  vi.useRealTimers();
});

interface Replicas {
  readonly port: number;
  /** From each address to the number of connections made. */
  readonly opened: Map<string, number>;
  /** Stops the backend of an address, which closes its connections. */
  stop(address: string): void;
}

/** One backend per loopback address, all on the same port; each answers with its address. */
async function replicas(...addresses: string[]): Promise<Replicas> {
  let port = 0;
  const opened = new Map<string, number>();
  const stops = new Map<string, () => void>();
  for (const address of addresses) {
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      opened.set(address, (opened.get(address) ?? 0) + 1);
      sockets.add(socket);
      const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${address.length}\r\n\r\n${address}`;
      socket.on('data', () => socket.write(answer)).on('error', () => socket.destroy());
    });
    server.listen(port, address);
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
    stops.set(address, () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    onTestFinished(() => stops.get(address)?.());
  }
  return { port, opened, stop: (address) => stops.get(address)?.() };
}

const at = (...addresses: string[]): ResolvedAddress[] =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

/** What the resolver does: answers, fails with a code, or never answers. */
type Answer = readonly string[] | { readonly code: string } | 'silence';

/** The connections to `replica.test`, and a resolver whose answer the test sets. */
async function connectionsTo(port: number, addresses: readonly string[]) {
  let current: Answer = addresses;
  let lookups = 0;
  const resolve = async (name: string) => {
    lookups += 1;
    expect(name).toBe('replica.test');
    if (current === 'silence') return new Promise<never>(() => {});
    if ('code' in current) throw Object.assign(new Error(`getaddrinfo ${current.code} ${name}`), current);
    return at(...current);
  };
  const connections = new NamedConnections({ host: 'replica.test', port, tls: undefined }, 0, resolve);
  onTestFinished(() => connections.close());
  connections.startRefresh();
  await vi.advanceTimersByTimeAsync(0);
  /** Changes the answer. The gateway does not know it until its next lookup. */
  const answerWith = (next: Answer) => {
    current = next;
  };
  /** Changes the answer, and waits for the periodic lookup. */
  const change = async (next: Answer) => {
    answerWith(next);
    await vi.advanceTimersByTimeAsync(5_000);
  };
  return { connections, answerWith, change, lookups: () => lookups };
}

/** Starts a backend at an address that another one had. Returns how many requests it got. */
async function replicaAt(address: string, port: number, body: string): Promise<() => number> {
  let requests = 0;
  const server = createServer((socket) => {
    socket.on('data', () => {
      requests += 1;
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
  }).listen(port, address);
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  return () => requests;
}

/** The monotonic clock, which the test can set forward. */
function shiftedClock(): Disposable & { add(ms: number): void } {
  const now = performance.now.bind(performance);
  let shift = 0;
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => now() + shift);
  return {
    add: (ms) => {
      shift += ms;
    },
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}

async function ask(connections: NamedConnections, times: number): Promise<string[]> {
  const answers: string[] = [];
  for (let time = 0; time < times; time += 1) {
    const { body, failure } = await exchange(connections.acquire(1_000));
    answers.push(body || (failure?.cause ?? ''));
  }
  return answers.sort();
}

const [a, b, c] = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];

describe('a host name', () => {
  it('with several addresses uses them in turn, each with a kept connection', async () => {
    const { port, opened } = await replicas(a, b);
    const { connections } = await connectionsTo(port, [a, b]);
    expect(await ask(connections, 6)).toEqual([a, a, a, b, b, b]);
    expect([...opened.values()]).toEqual([1, 1]);
    expect(connections.size).toBe(2);
  });

  it('is resolved again: new addresses are used, and removed ones are not', async () => {
    const { port, opened } = await replicas(a, b, c);
    const { connections, change } = await connectionsTo(port, [a]);
    expect(await ask(connections, 2)).toEqual([a, a]);
    await change([b, a]);
    expect(await ask(connections, 4)).toEqual([a, a, b, b]);
    expect(opened.get(a)).toBe(1);
    await change([b, c]);
    expect(await ask(connections, 4)).toEqual([b, b, c, c]);
    await eventually(() => expect(connections.size).toBe(2));
  });

  it('lets requests to a removed address finish', async () => {
    const { port } = await replicas(a, b);
    const { connections, change } = await connectionsTo(port, [a]);
    const connection = connections.acquire(1_000);
    await change([b]);
    expect(await exchange(connection)).toMatchObject({ body: a });
    expect(connection.closed).toBe(true);
  });

  it.each<[string, Answer]>([
    ['does not exist', { code: 'ENOTFOUND' }],
    ['has no address record', { code: 'ENODATA' }],
    ['has an empty answer', []],
  ])('that %s loses its addresses at once, with their idle connections', async (_name, answer) => {
    const { port, opened } = await replicas(a, b);
    const { connections, change } = await connectionsTo(port, [a, b]);
    await ask(connections, 4);
    expect(connections.size).toBe(2);
    await change(answer);
    await eventually(() => expect(connections.size).toBe(0));
    const before = new Map(opened);
    const [cause] = await ask(connections, 1);
    expect(cause).toContain('replica.test does not resolve to an address');
    expect(opened).toEqual(before);
    await change([b]);
    expect(await ask(connections, 2)).toEqual([b, b]);
  });

  it('is resolved before each new connection: the address of a stopped backend is not used for another host', async () => {
    const { port, opened, stop } = await replicas(a, b);
    const { connections, answerWith } = await connectionsTo(port, [a]);
    expect(await ask(connections, 1)).toEqual([a]);
    stop(a);
    answerWith({ code: 'ENOTFOUND' });
    await replicaAt(a, port, 'another host');
    for (let round = 0; round < 20; round += 1) {
      const outcome = await exchange(connections.acquire(1_000));
      expect(outcome.failure?.kind).toMatch(round === 0 ? /^(unresolved|lost)$/ : /^unresolved$/);
    }
    answerWith([b]);
    await eventually(async () => expect(await ask(connections, 1)).toEqual([b]));
    expect(opened).toEqual(
      new Map([
        [a, 1],
        [b, 1],
      ]),
    );
  });

  it('gets requests again as soon as it resolves, and not only after the next periodic lookup', async () => {
    const { port } = await replicas(a);
    const { connections, answerWith, change } = await connectionsTo(port, [a]);
    await change([]);
    // No timer of the periodic lookup runs from here on.
    vi.useRealTimers();
    answerWith([a]);
    await eventually(async () => expect(await ask(connections, 1)).toEqual([a]));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
  });

  it('is looked up once for many new connections, and not more often than every 20 ms while connections fail', async () => {
    const { port, stop } = await replicas(a);
    const { connections, lookups } = await connectionsTo(port, [a]);
    stop(a);
    const [before, startedAt] = [lookups(), performance.now()];
    for (let round = 0; round < 10; round += 1)
      await Promise.all(Array.from({ length: 20 }, () => exchange(connections.connect(1_000))));
    expect(lookups() - before).toBeLessThanOrEqual((performance.now() - startedAt) / 20 + 2);
  });

  it.each<[string, Answer]>([
    ['fails', { code: 'EAI_AGAIN' }],
    ['reports a server failure', { code: 'ESERVFAIL' }],
  ])('keeps its addresses while the resolver %s and connections succeed', async (_name, answer) => {
    const { port } = await replicas(a, b);
    const { connections, change } = await connectionsTo(port, [a, b]);
    await change(answer);
    using clock = shiftedClock();
    clock.add(60_000);
    await change(answer);
    expect(await ask(connections, 4)).toEqual([a, a, b, b]);
  });

  it.each<[string, Answer]>([['fails', { code: 'EAI_AGAIN' }]])(
    'loses its addresses once the resolver %s for 10 s and a connection has failed',
    async (_name, answer) => {
      const { port, stop } = await replicas(a);
      const { connections, change } = await connectionsTo(port, [a]);
      await change(answer);
      stop(a);
      await eventually(() => expect(connections.size).toBe(0));
      expect((await exchange(connections.connect(1_000))).failure?.kind).toBe('unreachable');
      const requestsOfOtherHost = await replicaAt(a, port, 'another host');
      using clock = shiftedClock();
      clock.add(11_000);
      const outcome = await exchange(connections.acquire(1_000));
      expect(outcome.failure?.kind).toBe('unresolved');
      expect(requestsOfOtherHost()).toBe(0);
    },
  );

  it('is waited for while the resolver does not answer: no connection is made at a known address', async () => {
    const { port, opened } = await replicas(a);
    const { connections, change } = await connectionsTo(port, [a]);
    await change('silence');
    using clock = shiftedClock();
    clock.add(1_000);
    expect((await exchange(connections.connect(50))).failure?.kind).toBe('unresolved');
    expect(opened.get(a)).toBeUndefined();
  });

  it('is looked up a second time while the resolver is slow, and the later answer counts', async () => {
    const { port } = await replicas(a, b);
    const pending: ((addresses: ResolvedAddress[]) => void)[] = [];
    const resolve = () => new Promise<ResolvedAddress[]>((answer) => pending.push(answer));
    const connections = new NamedConnections({ host: 'replica.test', port, tls: undefined }, 0, resolve);
    onTestFinished(() => connections.close());
    connections.startRefresh();
    await vi.advanceTimersByTimeAsync(0);
    const first = ask(connections, 1);
    expect(pending).toHaveLength(1);
    using clock = shiftedClock();
    clock.add(3_000);
    const second = ask(connections, 1);
    await vi.advanceTimersByTimeAsync(100);
    expect(pending).toHaveLength(2);
    clock.add(3_000);
    const third = ask(connections, 1);
    await vi.advanceTimersByTimeAsync(100);
    expect(pending).toHaveLength(2);
    pending[1]?.(at(b));
    pending[0]?.(at(a));
    const later = setInterval(() => {
      for (const answer of pending.splice(2)) answer(at(b));
    }, 5);
    onTestFinished(() => clearInterval(later));
    expect(await Promise.all([first, second, third])).toEqual([[b], [b], [b]]);
  });

  it('does not use a connection of one of its addresses that was made at another one', async () => {
    const { port } = await replicas(b);
    // Nothing listens at `a`, so its pool has connections to `b`.
    const { connections, change } = await connectionsTo(port, [a, b]);
    expect(await ask(connections, 4)).toEqual([b, b, b, b]);
    const busy = [connections.acquire(1_000), connections.acquire(1_000)];
    await change([a]);
    await Promise.all(busy.map(exchange));
    await eventually(() => expect(connections.size).toBe(0));
    expect((await ask(connections, 1))[0]).toMatch(/ECONNREFUSED/);
  });

  it('with an address that refuses at first uses that address soon after it answers', async () => {
    using clock = shiftedClock();
    const { port } = await replicas(b);
    const { connections } = await connectionsTo(port, [a, b]);
    expect(await ask(connections, 4)).toEqual([b, b, b, b]);
    await replicaAt(a, port, a);
    // As long as the connections that were made at `b` are kept: no request was delayed by trying `a` again.
    expect(await ask(connections, 4)).toEqual([b, b, b, b]);
    clock.add(1_000);
    // The first of them finds its connection too old to be kept.
    expect(await ask(connections, 4)).toEqual([a, b, b, b]);
    expect(await ask(connections, 4)).toEqual([a, a, b, b]);
  });

  it('tries an address that refuses for long less often, but at least once a minute', async () => {
    using clock = shiftedClock();
    const { port, opened } = await replicas(b);
    const { connections } = await connectionsTo(port, [a, b]);
    /** The connections that are made in `seconds` of two requests per second, one for each address. */
    const connectionsIn = async (seconds: number): Promise<number> => {
      const before = opened.get(b) ?? 0;
      for (let second = 0; second < seconds; second += 1) {
        clock.add(1_000);
        await ask(connections, 2);
      }
      return (opened.get(b) ?? 0) - before;
    };
    expect(await connectionsIn(60)).toBeLessThan(15);
    const later = await connectionsIn(600);
    expect(later).toBeGreaterThanOrEqual(9);
    expect(later).toBeLessThan(15);
  });

  it('is resolved for an endpoint outside the pools in the same way', async () => {
    const { port } = await replicas(a);
    const { connections, answerWith, change } = await connectionsTo(port, [a]);
    const connect = () => new ConnectionPool(connections.freshEndpoint, 0).connect(1_000);
    expect(await exchange(connect())).toMatchObject({ body: a });
    await change({ code: 'ENOTFOUND' });
    expect((await exchange(connect())).failure?.kind).toBe('unresolved');
    answerWith([a]);
    await eventually(async () => expect(await exchange(connect())).toMatchObject({ body: a }));
  });

  it.each([
    ['another IPv4 address', [a, b]],
    ['IPv4, where IPv6 comes first', ['::1', b]],
    ['the last of several', [a, '::1', c, b]],
  ])('is reached at %s if the other addresses refuse', async (_name, addresses) => {
    const { port } = await replicas(b);
    const { connections } = await connectionsTo(port, addresses);
    expect(new Set(await ask(connections, 2 * addresses.length))).toEqual(new Set([b]));
  });

  it('with no reachable address reports why', async () => {
    const { port } = await replicas(c);
    const { connections } = await connectionsTo(port, [a, b]);
    expect((await ask(connections, 1))[0]).toMatch(/ECONNREFUSED/);
  });

  it('is no longer resolved once it is not used', async () => {
    const { connections, lookups } = await connectionsTo(3001, [a]);
    connections.close();
    const before = lookups();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(lookups()).toBe(before);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('keeps idle connections for the configured time at every address', async () => {
    const { port } = await replicas(a, b);
    const { connections, change } = await connectionsTo(port, [a]);
    connections.keepAlive = 1;
    await change([a, b]);
    const [first, second] = [connections.acquire(0), connections.acquire(0)];
    await Promise.all([exchange(first), exchange(second)]);
    await eventually(() => expect(connections.size).toBe(0));
  });
});

it.each([['localhost']])('%s is reached at 127.0.0.1 by the system', async (host) => {
  const { port } = await replicas('127.0.0.1');
  const connections = new NamedConnections({ host, port, tls: undefined }, 0, systemResolve);
  onTestFinished(() => connections.close());
  // Before and after its first lookup is done.
  expect(await ask(connections, 1)).toEqual(['127.0.0.1']);
  connections.startRefresh();
  expect(await ask(connections, 3)).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1']);
});
