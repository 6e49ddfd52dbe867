import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';
import { connectTo, get } from '../support/rawClient.ts';

/** Where the two cross on the wire: a request leaves while the FIN of the backend is on its way. */
const [shortest, longest] = [900, 1_100];

/** Lets `clients` ask `rounds` times each, at pauses about as long as the backend keeps an idle connection. */
export async function askIdleBackend(clients: number, rounds: number, retries: Record<string, unknown> = {}) {
  let connections = 0;
  const server = createServer((_req, res) => void setTimeout(() => res.end('ok'), 50));
  // Node announces its time-out, and would be believed: this backend closes without a word.
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
  const open = await Promise.all(Array.from({ length: clients }, () => connectTo(gateway.port)));
  // All at once, so that each needs a connection of its own, and all of those idle afterwards.
  for (let round = 0; round < rounds; round += 1) {
    for (const client of open) client.send(get('/v1/x'));
    for (const client of open) {
      const { status } = await client.response('GET', 10_000);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    await sleep(shortest + ((round * 60) % (longest - shortest + 1)));
  }
  return { statuses, connections };
}
