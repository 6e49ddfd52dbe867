import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openFiles, rssBytes } from '../../bench/support/proc.ts';
import { startGateway } from './support/gateway.ts';
import { startPlainBackend } from './support/plainBackend.ts';

// This process also needs a file descriptor for each connection, and many machines allow at most 20,000.
const count = 10_000;
const allowedBytes = 20 * 1024;

it('10,000 idle connections of clients use at most 20 KiB each', async () => {
  const backend = await startPlainBackend('ok');
  const settings = { gateway: { timeouts: { keep_alive: '10m' } }, routes: { '/v1': backend } };
  const gateway = await startGateway(JSON.stringify(settings));
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const open = async (total: number): Promise<void> => {
    for (let at = 0; at < total; at += 100) {
      sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => openIdle(gateway.port)))));
    }
  };
  await open(1_000); // compilers warm up
  await sleep(1_000);
  const [before, files] = [rssBytes(gateway.pid), openFiles(gateway.pid)];
  await open(count);
  await sleep(3_000);
  const each = (rssBytes(gateway.pid) - before) / count;
  console.log(`soak: ${count} idle connections, ${(each / 1024).toFixed(1)} KiB of memory each`);
  expect(openFiles(gateway.pid) - files, 'open connections').toBeGreaterThan(count - 100);
  expect(each, 'bytes per connection').toBeLessThanOrEqual(allowedBytes);
});

/** Opens a connection, sends one request on it and waits for the response. */
async function openIdle(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write('GET /v1/x HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(socket, 'data');
  return socket;
}
