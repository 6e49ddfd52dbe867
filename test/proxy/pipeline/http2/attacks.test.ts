import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { eventually, settled } from '../../../support/eventually.ts';
import {
  block,
  connectFrames,
  endHeaders,
  endStream,
  type FrameClient,
  frame,
  headers,
  preface,
  pseudo,
  resetStream,
  types,
} from '../../../support/http2Frames.ts';
import { ask, get } from '../../../support/rawClient.ts';
import { inFlightAt, startWire, type Wire } from '../../../support/wire.ts';

async function startAttack(script?: Parameters<typeof startWire>[0]): Promise<{ wire: Wire; client: FrameClient }> {
  const wire = await startWire(script, { gateway: { h2c: 'on' } });
  return { wire, client: await connectFrames(wire.port) };
}

/** Budgets recover over time. On a slow machine a client would not exceed them, so the clock stands still until the test ends. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

/** Stream numbers of a client. */
function streams(count: number): number[] {
  return Array.from({ length: count }, (_, index) => 2 * index + 1);
}

describe('a connection is closed after', () => {
  it('20,000 streams that are reset at once, and few of them reach a backend', async () => {
    const { wire, client } = await startAttack();
    for (const stream of streams(20_000)) client.send(headers(stream), resetStream(stream));
    expect(await client.closedWith()).not.toBe('NO_ERROR');
    expect(wire.backend.requests.length).toBeLessThan(250);
    expect((await ask(wire.port, get('/v1/x'))).status).toBe(200);
  });

  it('hundreds of streams that are reset after they have reached the backend', async () => {
    stopClock();
    const { wire, client } = await startAttack([]);
    let sent = 0;
    // In groups, because more than 100 open streams are refused.
    for (let first = 1; first < 2000 && !client.closed; first += 180) {
      const group = streams(90).map((stream) => first + stream - 1);
      client.send(...group.map((stream) => headers(stream)));
      // Forwarded, so each costs a connection.
      sent += group.length;
      await eventually(() => expect(client.closed || wire.backend.requests.length >= sent).toBe(true));
      client.send(...group.map((stream) => resetStream(stream)));
    }
    expect(await client.closedWith()).toBe('ENHANCE_YOUR_CALM');
    expect(sent).toBeGreaterThan(150);
  });

  it('hundreds of streams that the client makes the gateway reset', async () => {
    stopClock();
    const { wire, client } = await startAttack([]);
    for (let first = 1; first < 2000 && !client.closed; first += 180) {
      const group = streams(90).map((stream) => first + stream - 1);
      const fields = [...pseudo({ ':method': 'POST' }), ['content-length', '2'] as const];
      client.send(
        ...group.flatMap((stream) => [headers(stream, fields, endHeaders), frame(types.data, endStream, stream, 'a')]),
      );
      const last = group.at(-1);
      await client.next((one) => one.type === types.reset && one.stream === last);
    }
    expect(await client.closedWith()).toBe('ENHANCE_YOUR_CALM');
    expect(wire.backend.requests).toEqual([]);
  });

  it('many malformed requests', async () => {
    const { client } = await startAttack();
    for (const stream of streams(1000)) client.send(headers(stream, [...pseudo(), ['X-Upper', 'a']]));
    expect(await client.closedWith()).toBe('ENHANCE_YOUR_CALM');
  });

  it('field blocks that become large when they are decompressed', async () => {
    const { wire, client } = await startAttack();
    const value = Buffer.alloc(3900, 'a').toString();
    // A literal with incremental indexing: entry 62 of the next blocks.
    const first = Buffer.concat([
      block(pseudo()),
      Buffer.from([0x40, 1]),
      Buffer.from('a'),
      Buffer.from([0x7f, 0xbd, 0x1d]),
    ]);
    client.send(frame(types.headers, 5, 1, Buffer.concat([first, Buffer.from(value)])));
    const bomb = (references: number) => Buffer.concat([block(pseudo()), Buffer.alloc(references, 0xbe)]);
    const [large, small] = [bomb(8000), bomb(100)];
    // 31 MB each, then 390 kB each: also a slow machine decompresses more than 33 of these per second, which the budget recovers.
    for (const stream of streams(20).slice(1)) client.send(frame(types.headers, 5, stream, large));
    for (const stream of streams(900).slice(20)) client.send(frame(types.headers, 5, stream, small));
    expect(await client.closedWith()).toBe('ENHANCE_YOUR_CALM');
    expect(wire.backend.requests.length).toBeLessThan(2);
  });

  it.each([
    ['long', 1024],
    ['empty', 0],
  ])('a field block that never ends, with %s frames', async (_size, length) => {
    const { client } = await startAttack();
    client.send(headers(1, pseudo(), endStream));
    const line = block([['x-a', Buffer.alloc(length, 'a').toString()]]);
    for (let sent = 0; sent < 5000; sent += 1) client.send(frame(types.continuation, 0, 1, length > 0 ? line : ''));
    expect(await client.closedWith()).toBeDefined();
  });

  it.each([
    ['PING', frame(types.ping, 0, 0, '12345678')],
    ['SETTINGS', frame(types.settings, 0, 0)],
  ])('thousands of %s frames, although the client reads the answers', async (_name, one) => {
    const { client } = await startAttack();
    for (let sent = 0; sent < 1000 && !client.closed; sent += 1) {
      client.send(one, one, one);
      await new Promise(setImmediate);
    }
    expect(await client.closedWith()).toBeDefined();
  });

  it('many empty DATA frames', async () => {
    const { client } = await startAttack();
    client.send(headers(1, pseudo({ ':method': 'POST' }), endHeaders));
    for (let sent = 0; sent < 5000; sent += 1) client.send(frame(types.data, 0, 1));
    expect(await client.closedWith()).toBeDefined();
  });

  it('no preface within timeouts.head', async () => {
    const { port } = await startWire(undefined, { gateway: { h2c: 'on', timeouts: { head: '200ms' } } });
    const client = await connectFrames(port, preface.subarray(0, 10));
    await client.next(() => false);
    expect(client.closed).toBe(true);
  });

  it.each([
    ['no request within timeouts.head', []],
    ['a field block that is not completed within timeouts.head', [headers(1, pseudo(), endStream)]],
  ])('%s', async (_name, frames) => {
    const { port } = await startWire(undefined, { gateway: { h2c: 'on', timeouts: { head: '200ms' } } });
    const client = await connectFrames(port);
    client.send(...frames);
    expect(await client.closedWith()).toBe('NO_ERROR');
  });

  it('timeouts.keep_alive without a request', async () => {
    const { port } = await startWire(undefined, { gateway: { h2c: 'on', timeouts: { keep_alive: '200ms' } } });
    const client = await connectFrames(port);
    client.send(headers(1));
    expect(await client.closedWith()).toBe('NO_ERROR');
    expect(await client.outcome(1)).toBe('200');
  });
});

describe('a stream', () => {
  it('of a client that does not read its connection ends with the connection', async () => {
    const size = 60_000;
    const wire = await startWire([{ write: `HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${'a'.repeat(size)}` }], {
      gateway: { h2c: 'on' },
      version: { timeouts: { write_idle: '300ms' } },
      routes: () => ({}),
    });
    // The largest windows of all streams and of the connection: only the socket stops the responses.
    const settings = frame(types.settings, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff]));
    const window = frame(types.windowUpdate, 0, 0, Buffer.from([0x7f, 0xf0, 0, 0]));
    const client = await connectFrames(wire.port, Buffer.concat([preface, settings, window]));
    client.socket.pause();
    client.send(...streams(100).map((stream) => headers(stream)));
    await eventually(async () => expect(await inFlightAt(wire.adminPort)).toBeGreaterThan(10));
    await eventually(async () => expect(await inFlightAt(wire.adminPort)).toBe(0));
  });

  it('for a page is answered whatever its fields are', async () => {
    const { client } = await startAttack();
    const names = ['trailer', 'expect', 'upgrade-insecure-requests', 'content-length', 'host', 'date', 'x'];
    for (const [index, name] of names.entries()) {
      client.send(headers(2 * index + 1, [...pseudo({ ':path': '/' }), [name, name === 'host' ? 'api.test' : '0']]));
    }
    for (const index of names.keys()) expect(await client.outcome(2 * index + 1)).toMatch(/^(?:200|4..)$/);
  });

  it('does not reach a backend if it is reset with the same bytes', async () => {
    const { wire, client } = await startAttack();
    client.send(...streams(90).flatMap((stream) => [headers(stream), resetStream(stream)]), headers(181));
    expect(await client.outcome(181)).toBe('200');
    await settled(() => wire.backend.requests.length, 100);
    expect(wire.backend.requests.length).toBe(1);
  });

  it('beyond 100 open ones is refused', async () => {
    const { client } = await startAttack([]);
    client.send(...streams(101).map((stream) => headers(stream)));
    expect(await client.outcome(201)).toBe('reset REFUSED_STREAM');
  });

  it('is reset if the client does not read a complete response', async () => {
    const wire = await startWire(undefined, {
      gateway: { h2c: 'on' },
      version: { timeouts: { write_idle: '300ms' } },
      routes: () => ({}),
    });
    // A window of 0 for each stream.
    const settings = frame(types.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]));
    const client = await connectFrames(wire.port, Buffer.concat([preface, settings]));
    client.send(headers(1));
    expect(await client.outcome(1)).toBe('reset INTERNAL_ERROR');
  });
});
