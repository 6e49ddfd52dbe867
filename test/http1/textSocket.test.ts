import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { TextSocket } from '../../gateway/http1/textSocket.ts';
import { eventually } from '../support/eventually.ts';

/** A connected socket, and the other end of its connection, which is not read. */
async function startPair(): Promise<{ socket: TextSocket; peer: Socket }> {
  const server = createServer({ pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = new TextSocket({ allowHalfOpen: true });
  socket.connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [peer]: Socket[] = await once(server, 'connection');
  if (!peer) throw new Error('no connection');
  if (socket.connecting) await once(socket, 'connect');
  onTestFinished(() => {
    socket.destroy();
    peer.destroy();
    server.close();
  });
  return { socket, peer };
}

/** Collects everything that `peer` receives. */
function receive(peer: Socket): { text: string } {
  const received = { text: '' };
  peer.setEncoding('latin1').on('data', (text) => {
    received.text += text;
  });
  peer.resume();
  return received;
}

// All byte values.
const part = String.fromCharCode(...Array.from({ length: 50_000 }, (_, at) => (at * 7 + (at >> 8)) & 0xff));

/** Writes until the kernel accepts no more. Returns what was written. */
function fill(socket: TextSocket): string {
  let written = '';
  while (socket.writableLength === 0) {
    socket.writeText(part);
    written += part;
  }
  return written;
}

it('writes latin1 text that the kernel accepts at once', async () => {
  const { socket, peer } = await startPair();
  const received = receive(peer);
  socket.writeText('abc');
  socket.writeText(part);
  expect([socket.writableLength, socket.bytesWritten]).toEqual([0, part.length + 3]);
  await eventually(() => expect(received.text).toBe(`abc${part}`));
});

it('keeps text in order that the kernel accepts in part, and reports when all of it is accepted', async () => {
  const { socket, peer } = await startPair();
  let written = fill(socket);
  expect([socket.writableLength, socket.bytesWritten]).toEqual([part.length, written.length]);
  for (const text of ['second', 'third']) socket.writeText(text);
  const accepted = new Promise((resolve) => socket.write(Buffer.from('fourth'), resolve));
  socket.writeText('fifth');
  written += 'secondthirdfourthfifth';
  expect(socket.writableLength).toBe(part.length + 22);
  const received = receive(peer);
  expect(await accepted).toBeFalsy();
  await eventually(() => expect(received.text.length).toBe(written.length));
  expect(received.text).toBe(written);
  expect([socket.writableLength, socket.bytesWritten]).toEqual([0, written.length]);
  // Once more, after the stream had to wait.
  const again = fill(socket);
  await eventually(() => expect(received.text.length).toBe(written.length + again.length));
  expect(received.text.slice(written.length)).toBe(again);
});

it('ends after text that the kernel has not accepted yet', async () => {
  const { socket, peer } = await startPair();
  const written = fill(socket);
  socket.destroySoon();
  const received = receive(peer);
  await once(peer, 'end');
  expect(received.text).toBe(written);
});

it('closes instead of sending text twice that the stream has queued although the handle has it', async () => {
  const { socket } = await startPair();
  socket.cork();
  fill(socket);
  expect(socket.destroyed).toBe(true);
});

it('closes while text waits', async () => {
  const { socket } = await startPair();
  fill(socket);
  socket.destroy();
  await once(socket, 'close');
  // Has no effect, as for `write`.
  socket.writeText('late');
});

it('emits an error if the peer resets the connection while text waits', async () => {
  const { socket, peer } = await startPair();
  fill(socket);
  peer.resetAndDestroy();
  const [error] = await once(socket, 'error');
  expect(error).toMatchObject({ code: expect.stringMatching(/^(ECONNRESET|EPIPE)$/) });
  expect(socket.destroyed).toBe(true);
});

it('emits an error that the kernel returns at once', async () => {
  const { socket, peer } = await startPair();
  const errors: Error[] = [];
  socket.on('error', (error) => void errors.push(error));
  socket.pause();
  peer.resetAndDestroy();
  await once(peer, 'close');
  await eventually(() => {
    socket.writeText('late');
    expect(socket.destroyed).toBe(true);
  });
  await eventually(() => expect(errors).toMatchObject([{ code: expect.stringMatching(/^(ECONNRESET|EPIPE)$/) }]));
  expect(socket.writableLength).toBe(0);
});

it('counts as active for the timeout of the socket', async () => {
  const { socket } = await startPair();
  let timeouts = 0;
  socket.setTimeout(1_000, () => {
    timeouts += 1;
  });
  for (let count = 0; count < 7; count += 1) {
    await sleep(200);
    socket.writeText('x');
  }
  expect(timeouts).toBe(0);
  await once(socket, 'timeout');
});

it('keeps text until it is connected', async () => {
  const server = createServer((peer) => peer.pipe(peer));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = new TextSocket();
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  socket.connect((server.address() as AddressInfo).port, '127.0.0.1');
  for (const text of ['a', 'b', 'c']) socket.writeText(text);
  const received = receive(socket);
  await eventually(() => expect(received.text).toBe('abc'));
});

it('uses the stream if node has no _writeGeneric', async () => {
  const { socket, peer } = await startPair();
  if (!socket._writeGeneric) throw new Error('node has no _writeGeneric: the test hides nothing');
  // The stream itself needs the method.
  const { _write: streamWrite } = socket;
  const hidden = socket._writeGeneric;
  let streamed = 0;
  Object.assign(socket, {
    _writeGeneric: undefined,
    _write: (...args: Parameters<typeof streamWrite>) => {
      streamed += 1;
      Object.assign(socket, { _writeGeneric: hidden });
      streamWrite.apply(socket, args);
    },
  });
  const received = receive(peer);
  socket.writeText('abc');
  await eventually(() => expect(received.text).toBe('abc'));
  expect(streamed).toBe(1);
});
