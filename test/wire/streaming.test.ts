import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Step, startBackend } from '../support/backend.ts';
import { eventually, settled } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { connectTo, get, message } from '../support/rawClient.ts';
import { membersOf } from '../support/response.ts';
import { startWire } from '../support/wire.ts';

describe('a body streams', () => {
  it('to the client, before it is complete', async () => {
    let end = (): unknown => undefined;
    const { port } = await startWire([
      { write: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n' },
      { take: (socket) => (end = () => socket.write('0\r\n\r\n')) },
    ]);
    const client = await connectTo(port);
    client.send(get('/v1/x'));
    await eventually(() => expect(client.pending).toContain('early'));
    end();
    expect((await client.response()).body).toBe('early');
  });

  it('of 5 MB both ways at once', async () => {
    const size = 5_000_000;
    const { client } = await startWire(
      ({ body }) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const body = Buffer.alloc(size, 'abcdefghijklm');
    client.send(message('POST /v1/x HTTP/1.1', 'Host: api.test', `Content-Length: ${size}`));
    client.send(body);
    const response = await client.response('POST');
    expect(response.body === body.toString('latin1')).toBe(true);
    expect(membersOf(response, 'connection')).not.toContain('close');
  });

  it('to the backend, before it is complete', async () => {
    const { backend, client } = await startWire([]);
    client.send(message('POST /v1/x HTTP/1.1', 'Host: api.test', 'Content-Length: 100'));
    client.send('early');
    await eventually(() => expect(backend.bytes).toContain('early'));
  });
});

// If one side does not read, the other cannot write on: 100 MB are more than the sockets buffer.
describe('the gateway does not buffer a body', () => {
  const megabyte = Buffer.alloc(1_000_000, 'a');
  const count = 100;

  /** Writes 100 MB as fast as they are read; returns how many were written. */
  function pour(socket: Socket): () => number {
    let written = 0;
    const next = (): void => {
      if (written < count && socket.writable)
        socket.write(megabyte, () => {
          written += 1;
          next();
        });
    };
    next();
    return () => written;
  }

  it('for a client that does not read, and delivers all of it later', async () => {
    let written = () => 0;
    const { client } = await startWire([
      { write: `HTTP/1.1 200 OK\r\nContent-Length: ${count}000000\r\n\r\n` },
      { take: (socket) => (written = pour(socket)) },
    ]);
    client.socket.pause();
    client.send(get('/v1/x'));
    await eventually(() => expect(written()).toBeGreaterThan(0));
    expect(await settled(written)).toBeLessThan(40);
    client.socket.removeAllListeners('data').resume();
    await eventually(() => expect(written()).toBe(count));
  });

  it('for a backend that does not read, and delivers all of it later', async () => {
    const taken: Socket[] = [];
    const stopReading: Step = { take: (socket) => taken.push(socket.removeAllListeners('data').pause()) };
    const backend = await startBackend([stopReading], { at: 'head' });
    const gateway = await startTestGateway({ '/v1': { upstream: backend.url, limits: { body: '200MB' } } });
    const client = await connectTo(gateway.port);
    client.send(message('POST /v1/x HTTP/1.1', 'Host: api.test', `Content-Length: ${count}000000`));
    const written = pour(client.socket);
    expect(await settled(written)).toBeLessThan(40);
    taken[0]?.resume();
    await eventually(() => expect(written()).toBe(count));
  });
});
