import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { answer, startBackend } from '../support/backend.ts';
import { eventually, settled } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { connectTo, get, message } from '../support/rawClient.ts';
import { inFlightAt, startWire } from '../support/wire.ts';

describe('a client that disconnects aborts the request at the backend within a second', () => {
  const begun = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n';

  it.each([
    ['before the answer, by reset', [], 'reset'],
    ['before the answer, by close', [], 'destroy'],
    ['within the answer, by reset', [{ write: begun }], 'reset'],
    ['within the answer, by close', [{ write: begun }], 'destroy'],
  ] as const)('%s', async (_name, script, how) => {
    const { backend, client } = await startWire(script);
    client.send(get('/v1/x'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    if (script.length > 0) await eventually(() => expect(client.pending).toContain('first'));
    if (how === 'reset') client.reset();
    else client.socket.destroy();
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
  });

  it('within its own body', async () => {
    const { backend, client } = await startWire(answer(200, 'ok'));
    client.send(`${message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 1000')}half`);
    await eventually(() => expect(backend.bytes).toContain('half'));
    client.reset();
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
    expect(backend.requests).toEqual([]);
  });

  it('with the pipelined requests as well', async () => {
    const { backend, client } = await startWire([]);
    client.send(get('/v1/x') + get('/v1/y'));
    await eventually(() => expect(backend.requests.length).toBeGreaterThan(0));
    client.reset();
    await eventually(() => {
      for (const connection of backend.connections) expect(connection.closed).not.toBe('open');
    });
  });

  it.each(['reset', 'destroy'] as const)('with a pipelined request that was sent later, by %s', async (how) => {
    const { backend, client } = await startWire([], { version: { timeouts: { first_byte: '5m' } } });
    client.send(get('/v1/x'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    client.send(get('/v1/y'));
    await settled(() => client.socket.bytesWritten);
    if (how === 'reset') client.reset();
    else client.socket.destroy();
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
  });

  it('while it was not reading', async () => {
    const huge = Buffer.alloc(64_000_000, 'a');
    const { backend, client } = await startWire([
      { write: `HTTP/1.1 200 OK\r\nContent-Length: ${huge.length}\r\n\r\n` },
      { write: huge },
    ]);
    client.socket.pause();
    client.send(get('/v1/x'));
    await eventually(() => expect(backend.requests).toHaveLength(1));
    await settled(() => client.socket.bytesRead);
    client.reset();
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
  });

  it('while the backend was not reading', async () => {
    const taken: Socket[] = [];
    const backend = await startBackend([{ take: (socket) => taken.push(socket.pause()) }], { at: 'head' });
    // Until then the gateway does not read from the client, so it does not detect the reset.
    const timeouts = { first_byte: '3s' };
    const gateway = await startTestGateway({ '/v1': { upstream: backend.url, limits: { body: '200MB' }, timeouts } });
    const client = await connectTo(gateway.port);
    client.send(message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 100000000'));
    client.send(Buffer.alloc(50_000_000, 'a'));
    await eventually(() => expect(taken).toHaveLength(1));
    await settled(() => client.socket.writableLength);
    client.reset();
    await eventually(async () => expect(await inFlightAt(gateway.adminPort)).toBe(0));
    // A socket that is not being read does not detect the end.
    for (const socket of taken) socket.resume();
    await eventually(() => expect(backend.connections[0]?.closed).not.toBe('open'));
    expect(backend.requests).toEqual([]);
  });
});
