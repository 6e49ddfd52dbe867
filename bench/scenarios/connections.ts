import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProxyDefinition } from '../proxies/definition.ts';
import { standaloneProxies } from '../proxies/index.ts';
import { nodeRelay } from '../proxies/nodeRelay.ts';
import { startJsonBackend } from '../support/backends.ts';
import { rssBytes } from '../support/proc.ts';
import { checkResponse } from '../support/response.ts';
import { ResponseReader } from '../support/responseReader.ts';
import { measureRounds } from '../support/rounds.ts';
import { onlyInstalled, selectProxies, startProxies } from '../support/runningProxies.ts';
import { path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

const connectionsPerStep = 2000;
/** Connections that are opened at the same time. A proxy then needs no more connections to the backend than this. */
const openedAtOnce = 50;
const settleMs = 500;

export const idleConnections: Scenario = {
  name: 'connections',
  title: 'How much memory does an idle connection need?',
  runs: 'unless quick',
  async run(options) {
    const backendPort = await startJsonBackend();
    const { installed, notes } = onlyInstalled(selectProxies([...standaloneProxies, nodeRelay], options.onlyProxies));
    const samples = await measureRounds(installed, options.rounds, (proxy) => measure(proxy, backendPort));
    const figure = (which: string) =>
      `resident memory per connection, ${which} ${connectionsPerStep.toLocaleString('en')}, KiB`;
    const goals = [{ atMost: 4 }];
    return {
      text: `A freshly started proxy gets ${connectionsPerStep.toLocaleString('en')} connections, and then as many again. Each sends one request and stays open. Memory is read ${settleMs / 1000} s after the last response. The first figure also contains the memory that a proxy allocates for its first requests.`,
      tables: [
        { figure: figure('first'), digits: 1, rows: samples.rows('first'), goals },
        { figure: figure('second'), digits: 1, rows: samples.rows('second'), goals },
      ],
      notes: [...notes, ...samples.notes],
    };
  },
};

async function measure(proxy: ProxyDefinition, backendPort: number): Promise<{ first: number; second: number }> {
  const { running, notes, stop } = await startProxies([proxy], backendPort, checkResponse);
  const [started] = running;
  if (!started) throw new Error(notes.join());
  const sockets: Socket[] = [];
  const memory = async () => {
    await sleep(settleMs);
    return rssBytes(started.child.pid);
  };
  try {
    const before = await memory();
    await openMore(started.port, sockets);
    const middle = await memory();
    await openMore(started.port, sockets);
    const after = await memory();
    const closed = sockets.filter((socket) => socket.destroyed || socket.readableEnded).length;
    if (closed > 0) throw new Error(`${closed} of ${sockets.length} connections were closed`);
    return { first: perConnection(middle - before), second: perConnection(after - middle) };
  } finally {
    for (const socket of sockets) socket.destroy();
    await stop();
  }
}

const perConnection = (bytes: number): number => bytes / 1024 / connectionsPerStep;

async function openMore(port: number, sockets: Socket[]): Promise<void> {
  for (let opened = 0; opened < connectionsPerStep; opened += openedAtOnce) {
    sockets.push(...(await Promise.all(Array.from({ length: openedAtOnce }, () => open(port)))));
  }
}

/** Opens a connection, and reads one response. */
async function open(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const reader = new ResponseReader();
  socket.write(`GET /v1${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  let isComplete = false;
  while (!isComplete) {
    const [chunk]: Buffer[] = await once(socket, 'data');
    isComplete = chunk !== undefined && reader.take(chunk);
  }
  // Keeps reading, so that a closed connection is noticed.
  return socket.on('error', () => socket.destroy()).resume();
}
