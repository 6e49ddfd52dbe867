import { Connection, type ConnectionOwner } from './connection.ts';
import { deadlineIn } from './deadlines.ts';
import type { Endpoint } from './socket.ts';

// A target that announces when it will close is left a second earlier, so that the two never cross on the wire.
const hintMargin = 1000;

/** The connections to one target. There is no cap: admission is decided before, by limits that answer 503. */
export class ConnectionPool implements ConnectionOwner {
  readonly #endpoint: Endpoint;
  readonly #open = new Set<Connection>();
  // The freshest is taken first: the others come to rest and are closed.
  readonly #idle: Connection[] = [];
  /** How long an idle connection is kept, in ms; 0 for ever. */
  keepAlive: number;
  #closing = false;

  constructor(endpoint: Endpoint, keepAlive: number) {
    this.#endpoint = endpoint;
    this.keepAlive = keepAlive;
  }

  get size(): number {
    return this.#open.size;
  }

  /** An idle connection, if there is one that is still open. */
  reuse(): Connection | undefined {
    for (let one = this.#idle.pop(); one; one = this.#idle.pop()) if (!one.closed) return one;
    return undefined;
  }

  /** An idle connection, or a new one, which may take `timeout` ms to stand. */
  acquire(timeout: number): Connection {
    return this.reuse() ?? this.connect(timeout);
  }

  connect(timeout: number): Connection {
    const connection = new Connection(this.#endpoint, timeout, this);
    this.#open.add(connection);
    return connection;
  }

  onIdle(connection: Connection, hint: number | undefined): void {
    const hinted = hint === undefined ? Number.POSITIVE_INFINITY : hint - hintMargin;
    if (this.#closing || hinted <= 0) {
      connection.destroy();
      return;
    }
    connection.deadline = Math.min(deadlineIn(this.keepAlive), performance.now() + hinted);
    this.#idle.push(connection);
  }

  onClose(connection: Connection): void {
    this.#open.delete(connection);
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
  }

  /** Idle connections go now, the others when their exchange ends. */
  close(): void {
    this.#closing = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }
}
