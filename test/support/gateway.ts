import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';
import { snapshotFrom } from '../../gateway/config/load.ts';
import { startGateway } from '../../gateway/process/runtime/gateway.ts';
import { connectTo } from './rawClient.ts';

export interface TestGateway {
  readonly port: number;
  readonly adminPort: number;
  /** `http://127.0.0.1:port` */
  readonly url: string;
}

export interface TestSettings {
  /** The time of the gateway's clock, in a form that `Date` parses; default: the real time. */
  readonly now?: string;
  /** `gateway:` of routes.yaml, added to free ports on 127.0.0.1. */
  readonly gateway?: Readonly<Record<string, unknown>>;
  /** `defaults:` of routes.yaml. */
  readonly defaults?: Readonly<Record<string, unknown>>;
}

/** `gateway:` of routes.yaml: `npm test` runs some folders a second time, with FAST_LANE=off. */
export const fastLane = { fast_lane: process.env['FAST_LANE'] ?? 'auto' };

/** Starts a gateway with these `routes:` on free ports; closed at the end of the test. */
export async function startTestGateway(
  routes: Readonly<Record<string, unknown>>,
  { now, gateway = {}, defaults }: TestSettings = {},
): Promise<TestGateway> {
  const snapshot = snapshotFrom({
    routes,
    gateway: { listen: '127.0.0.1:0', admin: '127.0.0.1:0', drain: '1s', ...fastLane, ...gateway },
    ...(defaults && { defaults }),
  });
  const running = await startGateway(snapshot, now === undefined ? {} : { clock: { now: () => Date.parse(now) } });
  onTestFinished(() => running.close());
  return { port: running.port, adminPort: running.adminPort, url: `http://127.0.0.1:${running.port}` };
}

let freeUrls = 0;

/**
 * A URL at which the test can start a listener later. Until then, connections are refused. The port is not one that the kernel
 * gives to connections, which would take it from time to time, and depends on the process.
 */
export async function freeUrl(): Promise<string> {
  const port = 10_000 + ((process.pid * 97 + freeUrls++) % 20_000);
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return freeUrl();
  }
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

/** A URL whose port is closed, so that connections are refused. Nothing can listen there. */
export async function refusedUrl(localAddress = '127.0.0.77'): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  // The local port of an open connection: nothing listens there, and the kernel gives it to no listener of another test. A gateway
  // connects from 127.0.0.1. To a port of that address, its connection could get the same port, and would then be one to itself.
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', localAddress }).unref();
  await once(socket, 'connect');
  heldPorts.push(socket);
  return `http://${localAddress}:${socket.localPort}`;
}

// Referenced, so that they stay open until the process ends.
const heldPorts: Socket[] = [];

/** The URL of a listener that accepts no connections and whose queue is full: the kernel drops further SYNs. */
export async function unansweringUrl(): Promise<string> {
  const code = `
    const { parentPort } = require('node:worker_threads');
    const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
    });`;
  const worker = new Worker(code, { eval: true });
  onTestFinished(async () => {
    await worker.terminate();
  });
  const [port] = (await once(worker, 'message')) as [number];
  await Promise.all([connectTo(port), connectTo(port)]);
  return `http://127.0.0.1:${port}`;
}
