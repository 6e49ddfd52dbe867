import { Connection, type ConnectionOwner, type Endpoint } from './connection.ts';
import { deadlineIn } from './deadlines.ts';
import { ResponseHeads } from './responseHead.ts';

// Idle connections are closed this long before the announced time, so that no request is sent while the target closes.
const closeEarlyMs = 1000;

/** The connections to one target. Their number is not limited here: `limits` of the version are checked before. */
export class ConnectionPool implements ConnectionOwner {
  readonly heads = new ResponseHeads();
  readonly #endpoint: Endpoint;
  #size = 0;
  // The last one is reused first, so that surplus connections time out.
  readonly #idle: Connection[] = [];
  /** How long an idle connection is kept, ms; 0: no limit. */
  keepAlive: number;
  #closing = false;

  constructor(endpoint: Endpoint, keepAlive: number) {
    this.#endpoint = endpoint;
    this.keepAlive = keepAlive;
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
    const usable = announced === undefined ? Number.POSITIVE_INFINITY : announced - closeEarlyMs;
    if (this.#closing || usable <= 0) {
      connection.destroy();
      return;
    }
    connection.deadline = Math.min(deadlineIn(this.keepAlive), performance.now() + usable);
    this.#idle.push(connection);
  }

  onClose(connection: Connection): void {
    this.#size -= 1;
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
  }

  /** Closes idle connections now, and the others when their exchange ends. */
  close(): void {
    this.#closing = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }
}
