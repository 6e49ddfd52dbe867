import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

// The system gives higher ports to connections and to listeners on port 0. One of them could take a port that was just found free.
const [lowestPort, ports] = [10_000, 22_000];

/** Finds a port that is free on `host`. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const server = createServer().listen(lowestPort + Math.floor(Math.random() * ports), host);
    const isFree = await once(server, 'listening').then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE' || error.code === 'EACCES') return false;
        throw error;
      },
    );
    if (!isFree) continue;
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    return port;
  }
}

// Under valgrind, a gateway takes about ten seconds to start.
const startTimeoutMs = 60_000;

/** Waits until `port` accepts connections; tries every `attemptMs`. `check` may throw to end the wait. */
export async function waitUntilListening(port: number, check: () => void, attemptMs = 50): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  while (!(await accepts(port))) {
    check();
    if (Date.now() > deadline) throw new Error(`nothing listens on port ${port} after ${startTimeoutMs} ms`);
    await sleep(attemptMs);
  }
}

function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1');
  socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
