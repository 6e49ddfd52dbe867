import { performance } from 'node:perf_hooks';
import { Connection, type ConnectionOwner, type Endpoint } from './connection.ts';
import { ResponseHeads } from './responseHead.ts';

// Idle connections are closed this long before the announced time, so that no request is sent while the target closes them.
const closeEarlyMs = 1000;

/** Watches the connections of a pool to a host name. */
interface PoolWatcher extends Required<Pick<ConnectionOwner, 'onLost'>> {
  /** Whether a connection to this address may be used again. */
  isCurrent(remoteAddress: string): boolean;
}

/** The connections to one target. Their number is not limited here: `limits` of the version are checked before. */
export class ConnectionPool implements ConnectionOwner {
  readonly heads = new ResponseHeads();
  readonly #endpoint: Endpoint;
  #size = 0;
  // The connection that became idle last is reused first, so that surplus connections time out.
  readonly #idle: Connection[] = [];
  /** How long an idle connection is kept, ms; 0: no limit. */
  keepAlive: number;
  #closing = false;
  readonly #watcher: PoolWatcher | undefined;

  constructor(endpoint: Endpoint, keepAlive: number, watcher?: PoolWatcher) {
    this.#endpoint = endpoint;
    this.keepAlive = keepAlive;
    this.#watcher = watcher;
  }

  get size(): number {
    return this.#size;
  }

  /** An idle connection that is still open. */
  reuse(): Connection | undefined {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) if (!idle.closed) return idle;
    return undefined;
  }

  /** An idle connection, or a new one that must connect within `timeout` ms. */
  acquire(timeout: number): Connection {
    return this.reuse() ?? this.connect(timeout);
  }

  connect(timeout: number): Connection {
    this.#size += 1;
    return new Connection(this.#endpoint, timeout, this);
  }

  onIdle(connection: Connection, announced: number | undefined): void {
    const usableMs = announced === undefined ? Number.POSITIVE_INFINITY : announced - closeEarlyMs;
    if (this.#closing || usableMs <= 0 || !this.#isCurrent(connection)) {
      connection.destroy();
      return;
    }
    connection.deadline = performance.now() + Math.min(this.keepAlive || Number.POSITIVE_INFINITY, usableMs);
    this.#idle.push(connection);
  }

  onClose(connection: Connection): void {
    this.#size -= 1;
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
  }

  onLost(wasConnected: boolean): void {
    this.#watcher?.onLost(wasConnected);
  }

  /** Closes idle connections to addresses that are not current any more. The others are closed when their exchange ends. */
  closeForgotten(): void {
    for (const connection of [...this.#idle]) if (!this.#isCurrent(connection)) connection.destroy();
  }

  /** Closes idle connections now, and the others when their exchange ends. */
  close(): void {
    this.#closing = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  #isCurrent({ socket }: Connection): boolean {
    return this.#watcher === undefined || this.#watcher.isCurrent(socket.remoteAddress ?? '');
  }
}
