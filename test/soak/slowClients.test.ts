import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { connectTo, get } from '../support/rawClient.ts';
import { startGateway } from './support/gateway.ts';
import { startPlainBackend } from './support/plainBackend.ts';

const count = 2_000;
const beginnings = [
  'GET /v1/x HTTP/1.1\r\nHost: a\r\nX-A: ',
  'POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n',
];

it('2,000 incomplete heads and bodies time out and do not delay other clients', async () => {
  const timeouts = { head: '3s', body_idle: '3s' };
  const routes = { '/v1': await startPlainBackend('ok') };
  const gateway = await startGateway(JSON.stringify({ gateway: { timeouts }, routes }));
  await p99(gateway.port, 500); // compilers warm up
  const alone = await p99(gateway.port, 2_000);
  const sockets = Array.from({ length: count }, (_, number) => begin(gateway.port, beginnings[number % 2] ?? ''));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  // Heads continue byte by byte: their time-out covers the whole head.
  const dripping = setInterval(() => {
    for (const [number, socket] of sockets.entries()) if (number % 2 === 0 && socket.writable) socket.write('a');
  }, 500);
  onTestFinished(() => clearInterval(dripping));
  await sleep(500);
  const among = await p99(gateway.port, 2_000);
  await eventually(() => expect(sockets.filter((socket) => !socket.closed)).toHaveLength(0));
  console.log(
    `soak: p99 ${alone.toFixed(2)} ms, among ${count} slow clients ${among.toFixed(2)} ms: ${(among / alone).toFixed(1)} times`,
  );
  expect(among, 'p99 among slow clients').toBeLessThanOrEqual(4 * Math.max(alone, 1));
});

function begin(port: number, bytes: string): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  // Resumed, because a paused socket does not emit the end of the connection.
  socket.on('error', () => {}).resume();
  socket.write(bytes);
  return socket;
}

/** The p99 response time in ms of a client that sends one request after another for `ms`. */
async function p99(port: number, ms: number): Promise<number> {
  const client = await connectTo(port);
  const times: number[] = [];
  for (const until = performance.now() + ms; performance.now() < until; ) {
    const startedAt = performance.now();
    client.send(get('/v1/x'));
    expect((await client.response()).status).toBe(200);
    times.push(performance.now() - startedAt);
  }
  client.end();
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
}
