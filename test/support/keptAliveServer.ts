import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A server, with what it has got and the connections that are open. */
export interface KeptAliveServer {
  readonly url: string;
  readonly port: number;
  readonly requested: string[];
  readonly sockets: Set<Socket>;
}

/** A server that keeps its connections open. It is closed at the end of the test. */
export async function serveKeptAlive(
  listener: RequestListener = (_req, res) => res.end('hello'),
): Promise<KeptAliveServer> {
  const requested: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((req, res) => {
    requested.push(`${req.method} ${req.url}`);
    listener(req, res);
  });
  // A client that does not close its connections keeps them as long as the server offers.
  server.keepAliveTimeout = 600_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, requested, sockets };
}
