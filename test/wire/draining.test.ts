import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { DataPlane } from '../../gateway/process/runtime/dataPlane.ts';
import { closeListener, createClientListener, listen, portOf } from '../../gateway/proxy/pipeline/clientListener.ts';
import type { InFlight, VersionRequests } from '../../gateway/proxy/pipeline/inFlight.ts';
import { type Answer, startBackend } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { fastLane } from '../support/gateway.ts';
import { expectProblem } from '../support/problem.ts';
import { connectTo, get, message, type RawClient } from '../support/rawClient.ts';
import { frame } from '../support/webSocketFrame.ts';

const upgrading = ['Connection: Upgrade', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
const toWebSocket = get('/v1/chat', ...upgrading, 'Upgrade: websocket');
const goodbye = '\x88\x0c\x03\xe9going away';

interface Running {
  readonly port: number;
  readonly requests: VersionRequests;
  /** Calls `action` for every exchange in flight, once there are `count` of them. */
  each(action: (one: InFlight) => void, count?: number): Promise<void>;
}

async function startGateway(upstream: string, version: Record<string, unknown> = {}): Promise<Running> {
  const snapshot = snapshotFrom({
    routes: { '/v1': { upstream, ...version } },
    gateway: { listen: '127.0.0.1:0', ...fastLane },
  });
  const dataPlane = new DataPlane(snapshot);
  const { context, requestsByVersion } = dataPlane;
  const front = createClientListener(snapshot.gateway, context);
  await listen(front, snapshot.gateway.listen);
  onTestFinished(async () => {
    dataPlane.close();
    await closeListener(front);
  });
  const requests = requestsByVersion.get('v1') as VersionRequests;
  const each = async (action: (one: InFlight) => void, count = 1): Promise<void> => {
    await eventually(() => expect(requests.inFlightCount).toBe(count));
    for (const one of [...requests.inFlight]) action(one);
  };
  return { port: portOf(front), requests, each };
}

/** A backend that switches to `protocol` and then gives its socket to the test. */
async function switched(protocol = 'websocket') {
  const taken: { socket: Socket; said: string }[] = [];
  const backend = await startBackend([
    { write: `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n` },
    {
      take: (socket, early) => {
        const one = { socket, said: early };
        taken.push(one);
        socket.on('data', (data) => (one.said += data.toString('latin1')));
      },
    },
  ]);
  const running = await startGateway(backend.url);
  const client = await connectTo(running.port);
  client.send(get('/v1/chat', ...upgrading, `Upgrade: ${protocol}`));
  expect((await client.response()).status).toBe(101);
  await eventually(() => expect(taken).toHaveLength(1));
  const [target] = taken as [{ socket: Socket; said: string }];
  const endIfEndless = () => running.each((one) => one.endIfEndless());
  return { backend, client, target, endIfEndless, ...running };
}

/** The payload of a masked frame. */
function unmasked(bytes: string): string {
  const key = bytes.slice(2, 6);
  return [...bytes.slice(6)].map((one, at) => String.fromCharCode(one.charCodeAt(0) ^ key.charCodeAt(at % 4))).join('');
}

function expectGoingAway(bytes: string): void {
  expect(bytes.slice(0, 2)).toBe('\x88\x8c');
  expect(unmasked(bytes)).toBe(goodbye.slice(2));
}

async function expectNothingLeft(requests: VersionRequests, backend: { connections: readonly { closed: string }[] }) {
  await eventually(() => expect(requests.inFlightCount).toBe(0));
  await eventually(() => expect(backend.connections[0]?.closed).toBe('end'));
}

describe('WebSockets', () => {
  async function startChats(count: number) {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    onTestFinished(() => {
      for (const socket of server.clients) socket.terminate();
      server.close();
    });
    await once(server, 'listening');
    const backendCodes: number[] = [];
    server.on('connection', (socket) => socket.on('close', (code) => backendCodes.push(code)));
    const running = await startGateway(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const clients = Array.from({ length: count }, () => new WebSocket(`ws://127.0.0.1:${running.port}/v1/chat`));
    onTestFinished(() => {
      for (const client of clients) client.terminate();
    });
    await Promise.all(clients.map((client) => once(client, 'open')));
    return { server, clients, backendCodes, ...running };
  }

  it.each([1, 100])('%i at once: both sides get 1001', async (count) => {
    const { clients, backendCodes, requests, each } = await startChats(count);
    const closes = clients.map((client) => once(client, 'close'));
    await each((one) => one.endIfEndless(), count);
    for (const [code, reason] of await Promise.all(closes)) {
      expect([code, String(reason)]).toEqual([1001, 'going away']);
    }
    await eventually(() => expect(backendCodes).toEqual(Array.from({ length: count }, () => 1001)));
    await eventually(() => expect(requests.inFlightCount).toBe(0));
  });

  it('during messages both ways, no message is broken', async () => {
    const { server, clients, each } = await startChats(1);
    const [client] = clients as [WebSocket];
    const [peer] = [...server.clients] as [WebSocket];
    const received: Record<'client' | 'peer', number[]> = { client: [], peer: [] };
    const errors: unknown[] = [];
    client
      .on('message', (data: Buffer) => received.client.push(data.length))
      .on('error', (error) => errors.push(error));
    peer.on('message', (data: Buffer) => received.peer.push(data.length)).on('error', (error) => errors.push(error));
    for (let count = 0; count < 20; count += 1) {
      client.send(Buffer.alloc(300_000, 1));
      peer.send(Buffer.alloc(300_000, 2));
    }
    await eventually(() => expect(Math.min(received.client.length, received.peer.length)).toBeGreaterThan(0));
    const codes = Promise.all([once(client, 'close'), once(peer, 'close')]);
    await each((one) => one.endIfEndless());
    expect((await codes).map(([code]) => code)).toEqual([1001, 1001]);
    expect(errors).toEqual([]);
    expect(new Set([...received.client, ...received.peer])).toEqual(new Set([300_000]));
  });
});

describe('a WebSocket frame in progress is completed before the Close', () => {
  it('a large frame to the client; later frames are discarded', async () => {
    const { client, target, endIfEndless, requests, backend } = await switched();
    const big = frame(2, 1_000_000);
    target.socket.write(big.subarray(0, 400_000));
    await eventually(() => expect(client.pending).toHaveLength(400_000));
    await endIfEndless();
    await eventually(() => expectGoingAway(target.said));
    expect(client.pending).toHaveLength(400_000);
    target.socket.write(Buffer.concat([big.subarray(400_000), frame(1, 5)]));
    const { by, leftover } = await client.closed();
    expect(leftover === big.toString('latin1') + goodbye).toBe(true);
    expect(by).toBe('end');
    client.end();
    target.socket.end();
    await expectNothingLeft(requests, backend);
  });

  it('a large frame to the target; later frames are discarded', async () => {
    const { client, target, endIfEndless } = await switched();
    const big = frame(2, 1_000_000, { masked: true });
    client.send(big.subarray(0, 400_000));
    await eventually(() => expect(target.said).toHaveLength(400_000));
    await endIfEndless();
    expect(await client.bytes(goodbye.length)).toBe(goodbye);
    client.send(Buffer.concat([big.subarray(400_000), frame(1, 5, { masked: true })]));
    await eventually(() => expect(target.said.length).toBeGreaterThanOrEqual(big.length + 18));
    expect(target.said.slice(0, big.length) === big.toString('latin1')).toBe(true);
    expectGoingAway(target.said.slice(big.length));
  });

  it('a frame whose header arrives byte by byte', async () => {
    const { client, target, endIfEndless } = await switched();
    const bytes = frame(2, 70_000);
    for (const byte of bytes.subarray(0, 6)) {
      const before = client.pending.length;
      target.socket.write(Buffer.of(byte));
      await eventually(() => expect(client.pending).toHaveLength(before + 1));
    }
    await endIfEndless();
    for (const byte of bytes.subarray(6, 10)) {
      const before = client.pending.length;
      target.socket.write(Buffer.of(byte));
      await eventually(() => expect(client.pending).toHaveLength(before + 1));
    }
    target.socket.write(bytes.subarray(10));
    expect((await client.closed()).leftover === bytes.toString('latin1') + goodbye).toBe(true);
  });

  it('a frame that arrived with the 101', async () => {
    const bytes = frame(1, 300).toString('latin1');
    const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n';
    const backend = await startBackend([{ write: head + bytes.slice(0, 7) }, { wait: 100 }, { write: bytes.slice(7) }]);
    const { port, each } = await startGateway(backend.url);
    const client = await connectTo(port);
    client.send(toWebSocket);
    await client.response();
    await eventually(() => expect(client.pending).toHaveLength(7));
    await each((one) => one.endIfEndless());
    expect((await client.closed()).leftover).toBe(bytes + goodbye);
  });

  it('a Close may come between two fragments of a message', async () => {
    const { client, target, endIfEndless } = await switched();
    const first = frame(1, 5, { final: false });
    target.socket.write(first);
    await eventually(() => expect(client.pending).toHaveLength(first.length));
    await endIfEndless();
    expect((await client.closed()).leftover).toBe(first.toString('latin1') + goodbye);
  });

  it('a frame that never ends is cut off', async () => {
    const { client, target, endIfEndless, requests, each } = await switched();
    target.socket.write(frame(1, 100).subarray(0, 50));
    await eventually(() => expect(client.pending).toHaveLength(50));
    await endIfEndless();
    await endIfEndless();
    await eventually(() => expectGoingAway(target.said));
    await each((one) => one.cut());
    expect((await client.closed()).leftover).toHaveLength(50);
    await eventually(() => expect(requests.inFlightCount).toBe(0));
  });
});

describe('the end of a WebSocket', () => {
  it('neither side gets a second Close', async () => {
    const { client, target, endIfEndless } = await switched();
    const own = Buffer.from('\x88\x02\x0f\xa1', 'latin1');
    target.socket.write(own);
    expect(await client.bytes(4)).toBe(own.toString('latin1'));
    const reply = frame(8, 2, { masked: true });
    client.send(reply);
    await eventually(() => expect(target.said).toBe(reply.toString('latin1')));
    await endIfEndless();
    expect((await client.closed()).leftover).toBe('');
    await eventually(() => expect(target.socket.readableEnded).toBe(true));
    expect(target.said).toBe(reply.toString('latin1'));
  });

  it('what is sent afterwards is discarded, and no side is reset', async () => {
    const { client, target, endIfEndless } = await switched();
    await endIfEndless();
    client.send(frame(1, 100_000, { masked: true }));
    target.socket.write(frame(1, 100_000));
    const { by, leftover } = await client.closed();
    expect([by, leftover]).toEqual(['end', goodbye]);
    await eventually(() => expect(target.socket.readableEnded).toBe(true));
    expectGoingAway(target.said);
  });

  it('peers that do not close are disconnected', async () => {
    const { client, endIfEndless, requests, backend } = await switched();
    await endIfEndless();
    await client.closed();
    await expectNothingLeft(requests, backend);
  });

  it('a client that has already disconnected causes no error', async () => {
    const { client, target, endIfEndless, requests } = await switched();
    client.end();
    await eventually(() => expect(target.socket.readableEnded).toBe(true));
    await endIfEndless();
    expect((await client.closed()).leftover).toBe(goodbye);
    target.socket.end();
    await eventually(() => expect(requests.inFlightCount).toBe(0));
    expect(target.said).toBe('');
  });
});

describe('a client that reads too slowly', () => {
  it.each([
    ['a WebSocket', 'websocket', goodbye],
    ['another protocol', 'chat/2', ''],
  ])('gets all bytes written to it, and then the end: %s', async (_name, protocol, last) => {
    const { client, target, endIfEndless } = await switched(protocol);
    const one = frame(2, 20_000);
    client.socket.pause();
    // One after the other, and more than all buffers hold, so that the rest waits at the target.
    let written = 0;
    const writeAnother = () => {
      if (written === 1_000) return;
      written += 1;
      target.socket.write(one, writeAnother);
    };
    writeAnother();
    // The buffers are full if nothing moves for several turns. One turn without progress happens on a busy machine.
    let [before, turnsWithoutProgress] = [0, 0];
    await eventually(() => {
      turnsWithoutProgress = written === before ? turnsWithoutProgress + 1 : 0;
      before = written;
      expect(turnsWithoutProgress).toBeGreaterThan(5);
    });
    expect(written).toBeLessThan(1_000);
    await endIfEndless();
    client.socket.resume();
    const { by, leftover } = await client.closed();
    expect(by).toBe('end');
    expect(leftover.length).toBeGreaterThan(one.length);
    if (last === '') return;
    expect(leftover.endsWith(last)).toBe(true);
    expect((leftover.length - last.length) % one.length).toBe(0);
  });
});

describe('another protocol', () => {
  it('ends both ways, after the bytes that were written', async () => {
    const { client, target, endIfEndless, requests, backend } = await switched('chat/2');
    const much = 'x'.repeat(2_000_000);
    target.socket.write(much);
    client.send('last words');
    await eventually(() => expect(target.said).toBe('last words'));
    await eventually(() => expect(client.pending).toHaveLength(much.length));
    await endIfEndless();
    const { by, leftover } = await client.closed();
    expect([by, leftover.length]).toEqual(['end', much.length]);
    await eventually(() => expect(target.socket.readableEnded).toBe(true));
    client.end();
    target.socket.end();
    await expectNothingLeft(requests, backend);
  });
});

describe('a response', () => {
  const events = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';

  async function begun(
    script: Answer,
    until: string,
  ): Promise<Running & { client: RawClient; backend: Awaited<ReturnType<typeof startBackend>> }> {
    const backend = await startBackend(script);
    const running = await startGateway(backend.url);
    const client = await connectTo(running.port);
    client.send(get('/v1/x'));
    await eventually(() => expect(client.pending).toContain(until));
    return { backend, client, ...running };
  }

  it('that is a stream of events ends cleanly, and so does its connection to the target', async () => {
    const { backend, client, requests, each } = await begun([{ write: `${events}9\r\ndata: 1\n\n\r\n` }], 'data: 1');
    await each((one) => {
      one.endIfEndless();
      one.endIfEndless();
    });
    const response = await client.response();
    expect([response.framing, response.body]).toEqual(['chunked', 'data: 1\n\n']);
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
    expect(requests.inFlightCount).toBe(0);
  });

  it('with a Content-Length is completed, even if it is a stream of events', async () => {
    for (const type of ['text/plain', 'text/event-stream']) {
      const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: 8\r\n\r\n`;
      const { client, each } = await begun([{ write: `${head}half` }, { wait: 100 }, { write: 'half' }], 'half');
      await each((one) => one.endIfEndless());
      expect((await client.response()).body).toBe('halfhalf');
    }
  });

  it('that has not begun when it is cut is CUT_OFF', async () => {
    const backend = await startBackend([]);
    const { port, each } = await startGateway(backend.url);
    const client = await connectTo(port);
    client.send(get('/v1/x'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    await each((one) => one.cut());
    expect(expectProblem(await client.response(), 503)['code']).toBe('CUT_OFF');
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
  });

  it('that has begun when it is cut is aborted', async () => {
    const { client, each } = await begun([{ write: 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf' }], 'half');
    await each((one) => one.cut());
    expect((await client.abortedResponse()).partial).toBe('half');
  });

  it.each([
    ['a stream of events', get('/v1/x'), `${events}9\r\ndata: 1\n\n\r\n`, 200],
    ['a WebSocket', toWebSocket, message('HTTP/1.1 101 Go', 'Connection: Upgrade', 'Upgrade: websocket'), 101],
  ])('that becomes %s after the drain began is ended when it begins', async (_name, request, head, status) => {
    const backend = await startBackend([{ wait: 200 }, { write: head }]);
    const { port, each, requests } = await startGateway(backend.url);
    const client = await connectTo(port);
    client.send(request);
    await eventually(() => expect(backend.requests).toHaveLength(1));
    await each((one) => one.endIfEndless());
    const response = await client.response();
    expect([response.status, response.body]).toEqual([status, '']);
    if (status === 101) expect((await client.closed()).leftover).toBe(goodbye);
    client.end();
    await eventually(() => expect(requests.inFlightCount).toBe(0));
  });
});
