import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** The last bytes of PostgreSQL's reply to a commit: ReadyForQuery, with the status `I` (not in a transaction). */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

export interface TcpProxy {
  readonly port: number;
  /** Connections that were accepted so far. */
  readonly connections: number;
  /** Closes every connection and refuses new ones, until `restore`. */
  cut(): void;
  /** Accepts connections and passes nothing on, like a network that drops every packet, until `restore`. */
  blackHole(): void;
  restore(): void;
  /** Closes every connection. New ones go to this port. */
  redirect(port: number): void;
  /** Passes on every chunk this much later. */
  delay(ms: number): void;
  /** Drops every nth reply to a request that contains `text`, after the commit: closes the connection instead. */
  dropReplies(every: number, text: string): void;
  /** Replies that were dropped so far. */
  readonly dropped: number;
}

/** A proxy in front of a port of 127.0.0.1. It breaks connections as a network does. `onEnd` receives the function that stops it. */
export async function startTcpProxy(
  target: number,
  onEnd: (stop: () => void) => void = onTestFinished,
): Promise<TcpProxy> {
  let mode: 'open' | 'cut' | 'black hole' = 'open';
  let currentTarget = target;
  let delayMs = 0;
  let drop = { every: Number.POSITIVE_INFINITY, text: '' };
  let replies = 0;
  const counts = { connections: 0, dropped: 0 };
  const sockets = new Set<Socket>();
  const closeAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const pass = (to: Socket, chunk: Buffer): void => {
    if (mode !== 'open') return;
    if (delayMs === 0) to.write(chunk);
    else setTimeout(() => to.destroyed || to.write(chunk), delayMs);
  };

  const server = createServer((client) => {
    counts.connections += 1;
    track(client);
    if (mode === 'cut') return void client.resetAndDestroy();
    const upstream = connect(currentTarget, '127.0.0.1');
    track(upstream);
    /** The received part of a reply that may be dropped; undefined: no such reply is expected. */
    let reply: Buffer[] | undefined;
    client.on('data', (chunk: Buffer) => {
      if (drop.text !== '' && chunk.includes(drop.text)) reply = [];
      pass(upstream, chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (reply === undefined) return pass(client, chunk);
      reply.push(chunk);
      const all = Buffer.concat(reply);
      if (!all.subarray(-readyForQuery.length).equals(readyForQuery)) return;
      reply = undefined;
      replies += 1;
      if (replies % drop.every > 0) return pass(client, all);
      counts.dropped += 1;
      client.resetAndDestroy();
      upstream.destroy();
    });
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => mode === 'black hole' || client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(() => {
    closeAll();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return counts.connections;
    },
    get dropped() {
      return counts.dropped;
    },
    cut: () => {
      mode = 'cut';
      closeAll();
    },
    blackHole: () => {
      mode = 'black hole';
    },
    restore: () => {
      // Bytes were lost in a black hole, so its connections cannot continue.
      if (mode === 'black hole') closeAll();
      mode = 'open';
    },
    redirect: (port) => {
      currentTarget = port;
      closeAll();
    },
    delay: (ms) => {
      delayMs = ms;
    },
    dropReplies: (every, text) => {
      drop = { every, text };
    },
  };
}
