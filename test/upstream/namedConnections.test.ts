import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { NamedConnections, type ResolvedAddress, systemResolve } from '../../gateway/upstream/namedConnections.ts';
import { exchange } from '../http1/backend.ts';
import { eventually } from '../support/eventually.ts';

// Only timers are faked, so that a test decides when names are resolved; sockets use real time.
beforeAll(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterAll(() => {
  vi.useRealTimers();
});

/** One backend per loopback address, all on the same port; each answers with its address. */
async function replicas(...addresses: string[]): Promise<{ port: number; opened: Map<string, number> }> {
  let port = 0;
  const opened = new Map<string, number>();
  for (const address of addresses) {
    const server: Server = createServer((socket) => {
      opened.set(address, (opened.get(address) ?? 0) + 1);
      const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${address.length}\r\n\r\n${address}`;
      socket.on('data', () => socket.write(answer)).on('error', () => socket.destroy());
    });
    server.listen(port, address);
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
    onTestFinished(() => {
      server.close();
    });
  }
  return { port, opened };
}

const at = (...addresses: string[]): ResolvedAddress[] =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

/** The connections to `replica.test`, which resolves to the next of `answers`; an empty answer is a failed lookup. */
async function connectionsTo(port: number, addresses: string[]) {
  let current = at(...addresses);
  let lookups = 0;
  const resolve = async (name: string) => {
    lookups += 1;
    expect(name).toBe('replica.test');
    if (current.length === 0) throw new Error('nobody knows');
    return current;
  };
  const connections = new NamedConnections({ host: 'replica.test', port, tls: undefined }, 0, resolve);
  onTestFinished(() => connections.close());
  connections.startRefresh();
  await vi.advanceTimersByTimeAsync(0);
  const change = async (...next: string[]) => {
    current = at(...next);
    await vi.advanceTimersByTimeAsync(5_000);
  };
  return { connections, change, lookups: () => lookups };
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
    await change(b, a);
    expect(await ask(connections, 4)).toEqual([a, a, b, b]);
    expect(opened.get(a)).toBe(1);
    await change(b, c);
    expect(await ask(connections, 4)).toEqual([b, b, c, c]);
    await eventually(() => expect(connections.size).toBe(2));
  });

  it('lets requests to a removed address finish', async () => {
    const { port } = await replicas(a, b);
    const { connections, change } = await connectionsTo(port, [a]);
    const connection = connections.acquire(1_000);
    await change(b);
    expect(await exchange(connection)).toMatchObject({ body: a });
    expect(connection.closed).toBe(true);
  });

  it('keeps the last known addresses while it cannot be resolved', async () => {
    const { port } = await replicas(a, b);
    const { connections, change, lookups } = await connectionsTo(port, [a, b]);
    await change();
    const before = lookups();
    expect(await ask(connections, 4)).toEqual([a, a, b, b]);
    await change(b);
    expect(lookups()).toBeGreaterThan(before);
    expect(await ask(connections, 2)).toEqual([b, b]);
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
    await change(a, b);
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
  await eventually(() => expect(connections.knownAddressLookup()).toBeDefined());
  expect(await ask(connections, 3)).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1']);
});
