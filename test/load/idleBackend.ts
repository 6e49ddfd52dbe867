import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';
import { connectTo, get } from '../support/rawClient.ts';

// Pauses close to the idle time-out of the backend, so that some requests are sent while its FIN is in transit.
const [shortestMs, longestMs] = [900, 1_100];

/** Sends `rounds` requests on each of `clients` connections, with pauses close to the idle time-out of the backend. */
export async function requestAroundIdleTimeout(clients: number, rounds: number, retries: Record<string, unknown> = {}) {
  let connections = 0;
  const server = createServer((_req, res) => void setTimeout(() => res.end('ok'), 50));
  // Node announces its keep-alive time-out, which the gateway respects. This backend closes without an announcement.
  server.on('connection', (socket) => {
    connections += 1;
    socket.setTimeout(1_000, () => socket.destroy());
  });
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1', 4096);
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const gateway = await startTestGateway({
    '/v1': { upstream: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, retries },
  });
  const statuses: Record<number, number> = {};
  const connected = await Promise.all(Array.from({ length: clients }, () => connectTo(gateway.port)));
  // Sent at the same time, so that each request uses its own connection to the backend, which is idle afterwards.
  for (let round = 0; round < rounds; round += 1) {
    for (const client of connected) client.send(get('/v1/x'));
    for (const client of connected) {
      const { status } = await client.response();
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    await sleep(shortestMs + ((round * 60) % (longestMs - shortestMs + 1)));
  }
  return { statuses, connections };
}
