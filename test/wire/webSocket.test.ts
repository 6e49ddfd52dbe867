import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { eventually } from '../support/eventually.ts';
import { refusedUrl, startTestGateway } from '../support/gateway.ts';

const dates = { deprecation: '2026-06-30', sunset: '2028-06-30T23:59:59Z' };

describe('WebSocket', () => {
  async function startChat() {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    onTestFinished(() => {
      for (const socket of server.clients) socket.terminate();
      server.close();
    });
    await once(server, 'listening');
    server.on('connection', (socket, { url }) => {
      socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
      socket.send(`at ${url}`);
    });
    const { port } = server.address() as AddressInfo;
    const gateway = await startTestGateway(
      { '/v1': { upstream: `http://127.0.0.1:${port}`, ...dates }, '/v2': await refusedUrl() },
      { now: '2026-08-01T00:00:00Z' },
    );
    const client = new WebSocket(`ws://127.0.0.1:${gateway.port}/v1/chat?a=b`);
    onTestFinished(() => client.terminate());
    return { server, client };
  }

  it('the 101 carries the warning', async () => {
    const { client } = await startChat();
    const [{ headers }] = (await once(client, 'upgrade')) as [IncomingMessage];
    expect([headers['deprecation'], headers['sunset'], headers['link']]).toEqual([
      '@1782777600',
      'Fri, 30 Jun 2028 23:59:59 GMT',
      '</v2/chat>; rel="successor-version"',
    ]);
  });

  it('messages pass both ways, text and binary', async () => {
    const { client } = await startChat();
    const next = messagesOf(client);
    expect(await next()).toBe('at /chat?a=b');
    const big = Buffer.alloc(1_000_000, 7);
    for (const sent of ['hello', Buffer.from([0, 255, 128]), big]) {
      client.send(sent);
      const received = await next();
      expect(typeof sent === 'string' ? received === sent : sent.equals(Buffer.from(received))).toBe(true);
    }
  });

  it('a close reaches the other side with its code', async () => {
    const { server, client } = await startChat();
    await once(client, 'open');
    for (const socket of server.clients) socket.close(4001, 'enough');
    const [code, reason] = (await once(client, 'close')) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([4001, 'enough']);
  });
});

/** Waits for one message after another; none is lost between two waits. */
function messagesOf(client: WebSocket): () => Promise<string | Buffer> {
  const messages: (string | Buffer)[] = [];
  client.on('message', (data: Buffer, isBinary) => messages.push(isBinary ? data : data.toString()));
  return async () => {
    await eventually(() => expect(messages.length).toBeGreaterThan(0));
    return messages.shift() ?? '';
  };
}
