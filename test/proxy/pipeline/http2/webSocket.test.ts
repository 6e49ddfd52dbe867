import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import { snapshotFrom } from '../../../../gateway/config/load.ts';
import { startGateway } from '../../../../gateway/process/runtime/gateway.ts';
import { answer } from '../../../support/backend.ts';
import { eventually } from '../../../support/eventually.ts';
import { answerOn, connectHttp2 } from '../../../support/http2Client.ts';
import { valuesOf } from '../../../support/response.ts';
import { frame } from '../../../support/webSocketFrame.ts';
import { inFlightAt, startWire } from '../../../support/wire.ts';

const handshake = {
  ':method': 'CONNECT',
  ':protocol': 'websocket',
  ':path': '/v1/chat?a=b',
  ':authority': 'api.test',
  'sec-websocket-version': '13',
};

/** Opens a stream with extended CONNECT (RFC 8441), after the settings of the gateway have allowed it. */
async function open(
  session: ClientHttp2Session,
  more: Readonly<Record<string, string>> = {},
): Promise<ClientHttp2Stream> {
  if (session.remoteSettings.enableConnectProtocol !== true) await once(session, 'remoteSettings');
  return session.request({ ...handshake, ...more }, { endStream: false });
}

async function startChat(): Promise<{
  server: WebSocketServer;
  gateway: Awaited<ReturnType<typeof startGateway>>;
  session: ClientHttp2Session;
}> {
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
  const routes = { '/v1': { upstream: `http://127.0.0.1:${port}`, deprecation: '2020-01-01' } };
  const settings = { listen: '127.0.0.1:0', admin: '127.0.0.1:0', h2c: 'on' };
  const gateway = await startGateway(snapshotFrom({ routes, gateway: settings }));
  onTestFinished(() => gateway.close());
  return { server, gateway, session: await connectHttp2(`http://127.0.0.1:${gateway.port}`) };
}

/** All bytes that arrive on a stream. */
function bytesOn(stream: ClientHttp2Stream): () => Buffer {
  let received = Buffer.alloc(0);
  stream.on('error', () => {});
  stream.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
  });
  return () => received;
}

const greeting = Buffer.concat([Buffer.from([0x81, 12]), Buffer.from('at /chat?a=b')]);

describe('a WebSocket over HTTP/2', () => {
  it('is opened with a 200 that has the lifecycle headers, and carries messages both ways', async () => {
    const { session } = await startChat();
    const stream = await open(session);
    const received = bytesOn(stream);
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    expect(headers).toMatchObject({ ':status': 200, deprecation: '@1577836800' });
    for (const name of ['upgrade', 'connection', 'sec-websocket-accept']) expect(headers[name]).toBeUndefined();
    await eventually(() => expect(received()).toEqual(greeting));
    stream.write(frame(2, 70_000, { masked: true }));
    await eventually(() => expect(received().subarray(greeting.length).equals(frame(2, 70_000))).toBe(true));
  });

  it('ends on both sides when the client resets the stream', async () => {
    const { server, session } = await startChat();
    const stream = await open(session);
    await once(stream, 'response');
    const [socket] = server.clients;
    const closed = once(socket as NonNullable<typeof socket>, 'close');
    stream.on('error', () => {}).close(8);
    expect((await closed)[0]).toBe(1006);
  });

  it.each([
    ['with its head', async () => {}],
    ['once it is open', (stream: ClientHttp2Stream) => once(stream, 'response')],
  ])('ends on both sides when the client ends its side %s', async (_when, waited) => {
    const { server, session, gateway } = await startChat();
    const stream = await open(session);
    stream.on('error', () => {}).resume();
    await waited(stream);
    stream.end();
    await eventually(() => expect(stream.closed).toBe(true));
    await eventually(async () => expect(await inFlightAt(gateway.adminPort)).toBe(0));
    expect(server.clients.size).toBe(0);
  });

  it('ends on both sides when the backend disconnects', async () => {
    const { server, session } = await startChat();
    const stream = await open(session);
    await once(stream, 'response');
    // The backend has closed its side. So does the client.
    stream.on('end', () => stream.end()).resume();
    for (const socket of server.clients) socket.terminate();
    await once(stream, 'close');
    expect(session.closed).toBe(false);
  });

  it('is in flight, and gets a Close frame when the gateway drains', async () => {
    const { server, gateway, session } = await startChat();
    const stream = await open(session);
    const received = bytesOn(stream);
    await eventually(() => expect(received()).toEqual(greeting));
    const status = await fetch(`http://127.0.0.1:${gateway.adminPort}/api/status`);
    expect(await status.json()).toMatchObject({ versions: [{ version: 'v1', in_flight: 1 }] });
    const [socket] = server.clients;
    const closed = once(socket as NonNullable<typeof socket>, 'close');
    stream.on('end', () => stream.end());
    const ended = once(stream, 'close');
    await gateway.drain(10_000);
    expect((await closed)[0]).toBe(1001);
    await ended;
    expect(received().subarray(greeting.length).toString('latin1')).toBe('\x88\x0c\x03\xe9going away');
  });

  it('is a handshake of HTTP/1.1 with a key of the gateway for the backend', async () => {
    const { backend, port } = await startWire(answer(403, 'no'), { gateway: { h2c: 'on' } });
    const stream = await open(await connectHttp2(`http://127.0.0.1:${port}`), { 'sec-websocket-protocol': 'chat' });
    expect(await answerOn(stream)).toMatchObject({ status: 403, body: 'no' });
    const { request } = backend;
    expect(request).toMatchObject({ method: 'GET', target: '/chat?a=b' });
    const names = ['upgrade', 'connection', 'sec-websocket-version', 'sec-websocket-protocol'];
    expect(names.map((name) => valuesOf(request, name))).toEqual([['websocket'], ['Upgrade'], ['13'], ['chat']]);
    expect(valuesOf(request, 'sec-websocket-key')).toEqual([expect.stringMatching(/^[\w+/]{22}==$/)]);
    expect(valuesOf(request, 'transfer-encoding')).toEqual([]);
  });

  it.each([
    [
      'a 101 with a wrong key',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: abc=\r\n\r\n',
      { status: 502 },
    ],
    ['a 200, which would look like an open WebSocket', answer(200, 'page'), { status: 0, code: 10 }],
  ])('is not opened by %s', async (_name, script, expected) => {
    const { port } = await startWire(script, { gateway: { h2c: 'on' } });
    const stream = await open(await connectHttp2(`http://127.0.0.1:${port}`));
    expect(await answerOn(stream)).toMatchObject(expected);
  });

  it('is refused with a Content-Length, because the backend could take the first frames for a request', async () => {
    const { port, backend } = await startWire(undefined, { gateway: { h2c: 'on' } });
    const session = await connectHttp2(`http://127.0.0.1:${port}`);
    expect((await answerOn(await open(session, { 'content-length': '31' }))).status).toBe(400);
    expect(backend.connections).toEqual([]);
  });

  it('is the only protocol for which CONNECT is allowed', async () => {
    const { port, backend } = await startWire(undefined, { gateway: { h2c: 'on' } });
    const session = await connectHttp2(`http://127.0.0.1:${port}`);
    expect((await answerOn(await open(session, { ':protocol': 'connect-udp' }))).status).toBe(405);
    const plain = session.request({ ':method': 'CONNECT', ':authority': 'api.test:443' });
    expect((await answerOn(plain)).status).toBe(405);
    expect(backend.connections).toEqual([]);
  });
});
