import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { gatewayCommand } from '../../bench/proxies/gateway.ts';
import { startServer, temporaryFolder } from '../../bench/support/children.ts';
import { freePort } from '../../bench/support/ports.ts';

export const mebibyte = 2 ** 20;

/** A gateway in a process of its own, whose memory and files are nobody else's: one version, `/v1`, to that backend. */
export async function startGatewayProcess(
  upstream: string,
  defaults: Readonly<Record<string, unknown>> = {},
): Promise<{ port: number; pid: number }> {
  const port = await freePort();
  // JSON is YAML, too.
  const routes = JSON.stringify({ routes: { '/v1': { upstream } }, defaults });
  const child = await startServer(gatewayCommand({ port, folder: temporaryFolder(), routes }), port, 'any');
  onTestFinished(() => child.stop());
  return { port, pid: child.pid };
}

export interface LoadedBackend {
  readonly url: string;
  readonly port: number;
  /** Sockets that are open right now. */
  connections(): number;
}

export async function startLoadedBackend(answer: RequestListener): Promise<LoadedBackend> {
  let open = 0;
  const server = createServer(answer);
  server.keepAliveTimeout = 0;
  server.on('connection', (socket: Socket) => {
    open++;
    socket.on('close', () => open--);
  });
  server.listen(0, '127.0.0.1', 4096);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}`, port, connections: () => open };
}

/** A client that has said `request` and reads nothing until it is told to. */
export async function say(port: number, request: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.pause().on('error', () => {}); // an abort from either end is what these tests are about
  await once(socket, 'connect');
  socket.write(request);
  return socket;
}

/** `total` bytes that take next to no memory; `taken` tells how many have been asked for. */
export function manyBytes(total: number): { stream: Readable; taken(): number } {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  let taken = 0;
  const stream = new Readable({
    read() {
      if (taken >= total) return void this.push(null);
      taken += chunk.length;
      this.push(chunk);
    },
  });
  return { stream, taken: () => taken };
}

/** Resolves once `value` has moved and then stood still for a second; gives the highest `level` seen meanwhile. */
export async function peakUntilStill(value: () => number, level: () => number): Promise<number> {
  let peak = level();
  let last = value();
  let still = 0;
  while (last === 0 || still < 10) {
    await sleep(100);
    peak = Math.max(peak, level());
    still = value() === last ? still + 1 : 0;
    last = value();
  }
  return peak;
}
