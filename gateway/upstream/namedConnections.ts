import type { LookupFunction } from 'node:net';
import type { Connection } from '../http1/connection.ts';
import { ConnectionPool } from '../http1/connectionPool.ts';
import type { Endpoint } from '../http1/socket.ts';
import type { Connections } from './connections.ts';
import type { Address, Resolve } from './resolver.ts';

// A replica that has come is known within 5 s, with a second for the lookup.
const resolveEveryMs = 4_000;

/**
 * The connections to a name: a pool an address, which take turns. With one pool for all of them whichever answered first
 * would keep its connections, and a replica that comes later would never be asked.
 */
export class NamedConnections implements Connections {
  readonly #endpoint: Endpoint;
  readonly #resolve: Resolve;
  // Until the first answer, the system resolves the name for each connection.
  readonly #byName: ConnectionPool;
  #pools: ReadonlyMap<string, ConnectionPool> = new Map();
  #turns: readonly ConnectionPool[];
  #turn = 0;
  #addresses: readonly Address[] = [];
  #keepAlive: number;
  #timer: NodeJS.Timeout | undefined;
  #following = false;

  constructor(endpoint: Endpoint, keepAlive: number, resolve: Resolve) {
    this.#endpoint = endpoint;
    this.#keepAlive = keepAlive;
    this.#resolve = resolve;
    this.#byName = new ConnectionPool(endpoint, keepAlive);
    this.#turns = [this.#byName];
  }

  get keepAlive(): number {
    return this.#keepAlive;
  }

  set keepAlive(ms: number) {
    this.#keepAlive = ms;
    for (const pool of this.#turns) pool.keepAlive = ms;
  }

  get size(): number {
    let size = 0;
    for (const pool of this.#turns) size += pool.size;
    return size;
  }

  acquire(timeout: number): Connection {
    return this.#next().acquire(timeout);
  }

  connect(timeout: number): Connection {
    return this.#next().connect(timeout);
  }

  /** From now on it follows what the name stands for, until `close`. Safe to call twice. */
  follow(): void {
    if (this.#following) return;
    this.#following = true;
    void this.#look();
  }

  close(): void {
    this.#following = false;
    clearTimeout(this.#timer);
    for (const pool of this.#turns) pool.close();
  }

  /** The addresses in turn, beginning with `first`, for node to try one after the other. */
  lookupFrom(first?: string): LookupFunction | undefined {
    if (this.#addresses.length === 0) return undefined;
    return (_name, { all }, callback) => {
      const list = this.#addresses.toSorted((a, b) => Number(b.address === first) - Number(a.address === first));
      const [one] = list;
      if (all) callback(null, [...list]);
      else if (one) callback(null, one.address, one.family);
    };
  }

  #next(): ConnectionPool {
    this.#turn = (this.#turn + 1) % this.#turns.length;
    return this.#turns[this.#turn] ?? this.#byName;
  }

  async #look(): Promise<void> {
    try {
      this.#adopt(await this.#resolve(this.#endpoint.host));
    } catch {
      // Nobody knows at the moment: what was known last is the best guess.
    }
    if (this.#following) this.#timer = setTimeout(() => void this.#look(), resolveEveryMs).unref();
  }

  #adopt(addresses: readonly Address[]): void {
    if (!this.#following || addresses.length === 0) return;
    this.#addresses = addresses;
    const before = this.#pools;
    const names = new Set(addresses.map(({ address }) => address));
    if (names.size === before.size && [...names].every((name) => before.has(name))) return;
    this.#pools = new Map([...names].map((name) => [name, before.get(name) ?? this.#poolAt(name)]));
    this.#turns = [...this.#pools.values()];
    this.#byName.close();
    for (const [name, pool] of before) if (!names.has(name)) pool.close();
  }

  #poolAt(address: string): ConnectionPool {
    const lookup: LookupFunction = (name, options, callback) => this.lookupFrom(address)?.(name, options, callback);
    return new ConnectionPool({ ...this.#endpoint, lookup }, this.#keepAlive);
  }
}
