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

/** Starts a gateway in its own process, so that its memory and open files can be measured. `/v1` is served by `upstream`. */
export async function startGatewayProcess(
  upstream: string,
  defaults: Readonly<Record<string, unknown>> = {},
): Promise<{ port: number; pid: number }> {
  const port = await freePort();
  // JSON is valid YAML.
  const routes = JSON.stringify({ routes: { '/v1': { upstream } }, defaults });
  const child = await startServer(gatewayCommand({ port, folder: temporaryFolder(), routes }), port, 'onAnyCore');
  onTestFinished(() => child.stop());
  return { port, pid: child.pid };
}

export interface LoadedBackend {
  readonly url: string;
  readonly port: number;
  /** The number of open sockets. */
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

/** Sends `request` on a new connection that does not read until it is resumed. */
export async function sendWithoutReading(port: number, request: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.pause().on('error', () => {}); // these tests abort connections
  await once(socket, 'connect');
  socket.write(request);
  return socket;
}

/** A stream of `total` bytes that uses almost no memory. `taken` returns how many have been read. */
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

/** Waits until `progress` has changed and then stopped for a second. Returns the highest `level` until then. */
export async function peakUntilStalled(progress: () => number, level: () => number): Promise<number> {
  let peak = level();
  let last = progress();
  let unchanged = 0;
  while (last === 0 || unchanged < 10) {
    await sleep(100);
    peak = Math.max(peak, level());
    unchanged = progress() === last ? unchanged + 1 : 0;
    last = progress();
  }
  return peak;
}
