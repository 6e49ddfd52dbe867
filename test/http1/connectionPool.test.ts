import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Connection } from '../../gateway/http1/connection.ts';
import { ConnectionPool } from '../../gateway/http1/connectionPool.ts';
import { type Backend, exchange, startBackend } from './backend.ts';

// Deadlines use a fake clock that the tests move; sockets use the real time.
beforeAll(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
  vi.spyOn(performance, 'now').mockImplementation(() => Date.now());
});
afterAll(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** A 200 with these fields. */
function okWith(...fields: string[]): string {
  return ['HTTP/1.1 200 OK', ...fields, 'Content-Length: 2', '', 'ok'].join('\r\n');
}

function poolFor(backend: Backend, keepAlive = 0): ConnectionPool {
  const pool = new ConnectionPool(backend.endpoint, keepAlive);
  onTestFinished(() => pool.close());
  return pool;
}

function answering(answer: string): Promise<Backend> {
  return startBackend((socket) => socket.write(answer));
}

const ends = new WeakMap<Connection, Promise<void>>();

function connect(pool: ConnectionPool): Connection {
  const connection = pool.connect(0);
  ends.set(connection, new Promise((resolve) => connection.socket.once('close', () => resolve())));
  return connection;
}

/** Waits for the end of a connection that `connect` made. */
async function gone(connection: Connection): Promise<void> {
  await ends.get(connection);
}

/** A connection that has carried one exchange and is idle. */
async function idleIn(pool: ConnectionPool): Promise<Connection> {
  const connection = connect(pool);
  expect(await exchange(connection)).toEqual({ status: 200, body: 'ok', failure: undefined });
  return connection;
}

describe('an idle connection', () => {
  it('is reused, and is marked as reused', async () => {
    const backend = await answering(ok);
    const pool = poolFor(backend);
    const connection = await idleIn(pool);
    expect(connection.earlierExchanges).toBe(0);
    expect(pool.reuse()).toBe(connection);
    expect(await exchange(connection)).toMatchObject({ body: 'ok' });
    expect(connection.earlierExchanges).toBe(1);
    expect(backend.sockets).toHaveLength(1);
  });

  it('is used by one exchange at a time', async () => {
    const pool = poolFor(await answering(ok));
    await idleIn(pool);
    pool.reuse();
    expect(pool.reuse()).toBeUndefined();
    expect(pool.size).toBe(1);
  });

  it('is the most recently used of several', async () => {
    const pool = poolFor(await answering(ok));
    const [first, second, third] = [await idleIn(pool), await idleIn(pool), await idleIn(pool)];
    expect([pool.reuse(), pool.reuse(), pool.reuse(), pool.reuse()]).toEqual([third, second, first, undefined]);
  });

  it('is the one that became idle last, not the one that was opened last', async () => {
    const firstIsAsked = Promise.withResolvers<Socket>();
    let asked = 0;
    const backend = await startBackend((socket) => {
      asked += 1;
      if (asked === 1) firstIsAsked.resolve(socket);
      else socket.write(ok);
    });
    const pool = poolFor(backend);
    const first = connect(pool);
    const outcome = exchange(first);
    const socket = await firstIsAsked.promise;
    const second = await idleIn(pool);
    socket.write(ok);
    await outcome;
    expect([pool.reuse(), pool.reuse()]).toEqual([first, second]);
  });

  it.each<[how: string, end: (socket: Socket) => void]>([
    ['closes', (socket) => socket.end()],
    ['resets', (socket) => socket.resetAndDestroy()],
    ['sends a byte', (socket) => socket.write('x')],
    ['sends a response without a request', (socket) => socket.write(ok)],
    ['sends an empty line', (socket) => socket.write('\r\n')],
  ])('is not reused when its peer %s', async (_how, end) => {
    const backend = await answering(ok);
    const pool = poolFor(backend);
    const connection = await idleIn(pool);
    backend.sockets.forEach(end);
    await gone(connection);
    expect(pool.reuse()).toBeUndefined();
    expect(pool.size).toBe(0);
  });

  it('does not affect the others when it is closed', async () => {
    const backend = await answering(ok);
    const pool = poolFor(backend);
    const [first, second] = [await idleIn(pool), await idleIn(pool)];
    backend.sockets[0]?.end();
    await gone(first);
    expect([pool.reuse(), pool.reuse()]).toEqual([second, undefined]);
  });
});

describe('a connection is not kept', () => {
  it.each([
    ['after Connection: close', okWith('Connection: close')],
    ['in HTTP/1.0', ok.replace('1.1', '1.0')],
    ['with bytes after its response', `${ok}HTTP/1.1`],
    ['if its peer closes it within a second', okWith('Keep-Alive: timeout=1')],
    ['if its peer closes it at once', okWith('Keep-Alive: timeout=0')],
    ['in HTTP/1.0 with keep-alive and close', okWith('Connection: keep-alive, close').replace('1.1', '1.0')],
  ])('%s', async (_name, answer) => {
    const pool = poolFor(await answering(answer));
    const connection = await idleIn(pool);
    expect(pool.reuse()).toBeUndefined();
    await gone(connection);
    expect(pool.size).toBe(0);
  });

  it('after a body that ended with the connection', async () => {
    const backend = await startBackend((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nok'));
    const pool = poolFor(backend);
    await idleIn(pool);
    expect(pool.reuse()).toBeUndefined();
  });

  it('after a failure', async () => {
    const pool = poolFor(await answering('nonsense\r\n\r\n'));
    const connection = connect(pool);
    expect(await exchange(connection)).toMatchObject({ failure: { kind: 'malformed' } });
    expect(pool.reuse()).toBeUndefined();
    await gone(connection);
    expect(pool.size).toBe(0);
  });
});

describe('an idle connection is kept', () => {
  // Deadlines are checked ten times a second.
  const look = 100;

  it.each([
    ['as configured', 4_000, [], 4_000],
    ['until a second before its peer closes it', 4_000, ['Keep-Alive: timeout=3'], 2_000],
    ['as configured, if its peer keeps it longer', 4_000, ['Keep-Alive: timeout=60'], 4_000],
    ['for the timeout of the peer, if none is configured', 0, ['Keep-Alive: timeout=3, max=9'], 2_000],
    ['as configured, if Keep-Alive has no timeout', 4_000, ['Keep-Alive: max=9'], 4_000],
    ['as configured, if another parameter contains `timeout`', 4_000, ['Keep-Alive: xtimeout=1'], 4_000],
  ])('%s', async (_name, keepAlive, fields, expected) => {
    const pool = poolFor(await answering(okWith(...fields)), keepAlive);
    const connection = await idleIn(pool);
    vi.advanceTimersByTime(expected - look);
    expect(connection.closed).toBe(false);
    vi.advanceTimersByTime(2 * look);
    expect(connection.closed).toBe(true);
    expect(pool.reuse()).toBeUndefined();
  });

  it('without a limit if there is no timeout', async () => {
    const pool = poolFor(await answering(ok));
    const connection = await idleIn(pool);
    vi.advanceTimersByTime(3_600_000);
    expect(pool.reuse()).toBe(connection);
  });

  it('by the current setting of the pool', async () => {
    const pool = poolFor(await answering(ok), 4_000);
    pool.keepAlive = 2_000;
    const connection = await idleIn(pool);
    vi.advanceTimersByTime(2_000 + look);
    expect(connection.closed).toBe(true);
  });

  it('for the whole time again after each exchange', async () => {
    const pool = poolFor(await answering(ok), 4_000);
    const connection = await idleIn(pool);
    for (let turn = 0; turn < 3; turn += 1) {
      vi.advanceTimersByTime(3_000);
      expect(pool.reuse()).toBe(connection);
      await exchange(connection);
    }
  });
});

describe('a pool that closes', () => {
  it('closes idle connections', async () => {
    const pool = poolFor(await answering(ok));
    const connections = [await idleIn(pool), await idleIn(pool)];
    pool.close();
    expect(connections.map(({ closed }) => closed)).toEqual([true, true]);
    await Promise.all(connections.map(gone));
    expect(pool.size).toBe(0);
  });

  it('lets an exchange end, and closes its connection then', async () => {
    const asked = Promise.withResolvers<Socket>();
    const pool = poolFor(await startBackend(asked.resolve));
    const connection = connect(pool);
    const outcome = exchange(connection);
    const socket = await asked.promise;
    pool.close();
    expect(connection.closed).toBe(false);
    socket.write(ok);
    expect(await outcome).toMatchObject({ status: 200, body: 'ok' });
    expect(connection.closed).toBe(true);
    expect(pool.reuse()).toBeUndefined();
  });

  it('can be closed twice', async () => {
    const pool = poolFor(await answering(ok));
    await idleIn(pool);
    pool.close();
    expect(() => pool.close()).not.toThrow();
  });
});
