import { performance } from 'node:perf_hooks';
import { Connection, type ConnectionOwner, type Endpoint } from './connection.ts';
import { ResponseHeads } from './responseHead.ts';

// Idle connections are closed this long before the announced time, so that no request is sent while the target closes them.
const closeEarlyMs = 1000;

/** Watches the connections of a pool to a host name. */
interface PoolWatcher extends Required<Pick<ConnectionOwner, 'onLost'>> {
  /** Until when `connection` may be used again, monotonic ms; in the past: it is closed now. */
  usableUntil(connection: Connection): number;
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
    const now = performance.now();
    const announcedEnd = announced === undefined ? Number.POSITIVE_INFINITY : now + announced - closeEarlyMs;
    const usableUntil = Math.min(announcedEnd, this.#usableUntil(connection));
    if (this.#closing || usableUntil <= now) {
      connection.destroy();
      return;
    }
    connection.deadline = Math.min(now + (this.keepAlive || Number.POSITIVE_INFINITY), usableUntil);
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
    const now = performance.now();
    for (const connection of [...this.#idle]) if (this.#usableUntil(connection) <= now) connection.destroy();
  }

  /** Closes idle connections now, and the others when their exchange ends. */
  close(): void {
    this.#closing = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  #usableUntil(connection: Connection): number {
    return this.#watcher?.usableUntil(connection) ?? Number.POSITIVE_INFINITY;
  }
}
