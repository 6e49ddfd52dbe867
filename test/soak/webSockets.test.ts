import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { refusedUrl } from '../support/gateway.ts';
import { startGateway } from './support/gateway.ts';

const count = 1_000;

it('1,000 WebSockets of /v2 stay open during 50 reloads of /v1', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', backlog: 4096 });
  server.on('connection', (socket) => socket.on('message', (data) => socket.send(data.toString())));
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const v2 = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const refused = await refusedUrl();
  const routes = (day: number) =>
    JSON.stringify({ routes: { '/v1': { upstream: refused, deprecation: `2026-01-${day}` }, '/v2': v2 } });
  const gateway = await startGateway(routes(10));
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const batch = Array.from({ length: 100 }, () => new WebSocket(`ws://127.0.0.1:${gateway.port}/v2/x`));
    await Promise.all(batch.map((socket) => once(socket, 'open')));
    sockets.push(...batch);
  }
  onTestFinished(() => {
    for (const socket of sockets) socket.terminate();
  });
  for (let round = 0; round < 50; round += 1) expect(await gateway.reload(routes(11 + (round % 2)))).toBe('reloaded');
  const echoes = sockets.map(async (socket, number) => {
    socket.send(String(number));
    const [echo] = (await once(socket, 'message', { signal: AbortSignal.timeout(10_000) })) as [Buffer];
    return echo.toString() === String(number);
  });
  const alive = (await Promise.all(echoes)).filter(Boolean).length;
  console.log(`soak: ${alive} of ${count} WebSockets echo after 50 reloads`);
  expect(alive).toBe(count);
});
