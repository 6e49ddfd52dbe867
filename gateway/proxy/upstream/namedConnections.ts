import { isIP } from 'node:net';
import type { Connection, Endpoint } from '../../http1/connection.ts';
import { ConnectionPool } from '../../http1/connectionPool.ts';
import { NameResolution, type Resolve, type ResolvedAddress } from './nameResolution.ts';

// If an address refuses, its pool makes connections at another address of the name, and keeps each for as long as its own address has
// failed, within these bounds. A container that gets its address before it listens so gets requests soon after it listens, and an
// address that no host has does not delay many requests.
const keptElsewhereMs = { least: 1_000, most: 60_000 };

/** The connections to one target, at any of its addresses. */
export interface Connections {
  /** How long an idle connection is kept, in ms; 0: no limit. */
  keepAlive: number;
  readonly size: number;
  /** An idle connection, or a new one that must connect within `timeout` ms. */
  acquire(timeout: number): Connection;
  /** A new connection, even if one is idle. */
  connect(timeout: number): Connection;
  /** Closes idle connections now, and the others when their exchange ends. */
  close(): void;
}

/** Whether a host is a name and not an IP address. The addresses of a name may change. */
export function isHostName(host: string): boolean {
  return isIP(host) === 0;
}

/**
 * The connections to a host name: one pool per address, used round-robin. With a single pool, the first address that answered
 * would keep all connections, and a replica added later would get no requests.
 */
export class NamedConnections implements Connections {
  readonly #endpoint: Endpoint;
  readonly #resolution: NameResolution;
  /** Used while the name has no known address. */
  #unresolved: ConnectionPool;
  /** From each address to its pool. */
  #pools: ReadonlyMap<string, ConnectionPool> = new Map();
  #rotation: readonly ConnectionPool[];
  #nextIndex = 0;
  #keepAlive: number;
  #isClosed = false;

  constructor(endpoint: Endpoint, keepAlive: number, resolve: Resolve) {
    this.#endpoint = endpoint;
    this.#keepAlive = keepAlive;
    this.#resolution = new NameResolution(endpoint.host, resolve, (addresses) => this.#useAddresses(addresses));
    this.#unresolved = this.#poolAt(undefined);
    this.#rotation = [this.#unresolved];
  }

  /** An endpoint for connections outside the pools, at the addresses that the pools use. */
  get freshEndpoint(): Endpoint {
    return this.#endpointAt(undefined);
  }

  get keepAlive(): number {
    return this.#keepAlive;
  }

  set keepAlive(ms: number) {
    this.#keepAlive = ms;
    for (const pool of this.#rotation) pool.keepAlive = ms;
  }

  get size(): number {
    let size = 0;
    for (const pool of this.#rotation) size += pool.size;
    return size;
  }

  acquire(timeout: number): Connection {
    return this.#nextPool().acquire(timeout);
  }

  connect(timeout: number): Connection {
    return this.#nextPool().connect(timeout);
  }

  /** Resolves the name at once, and then periodically until `close`. Safe to call twice. */
  startRefresh(): void {
    this.#resolution.startRefresh();
  }

  close(): void {
    this.#isClosed = true;
    this.#resolution.stop();
    for (const pool of this.#rotation) pool.close();
  }

  #nextPool(): ConnectionPool {
    this.#nextIndex = (this.#nextIndex + 1) % this.#rotation.length;
    return this.#rotation[this.#nextIndex] ?? this.#unresolved;
  }

  /** None: the name has no address any more. */
  #useAddresses(addresses: readonly ResolvedAddress[]): void {
    if (this.#isClosed) return;
    const formerPools = this.#pools;
    const currentAddresses = new Set(addresses.map(({ address }) => address));
    const areUnchanged =
      currentAddresses.size === formerPools.size && [...currentAddresses].every((address) => formerPools.has(address));
    if (areUnchanged) return;
    this.#pools = new Map(
      [...currentAddresses].map((address) => [address, formerPools.get(address) ?? this.#poolAt(address)]),
    );
    this.#unresolved.close();
    // Its connections were made at addresses that may be forgotten later, so it is not used again.
    this.#unresolved = this.#poolAt(undefined);
    this.#rotation = this.#pools.size > 0 ? [...this.#pools.values()] : [this.#unresolved];
    for (const [address, pool] of formerPools) {
      if (currentAddresses.has(address)) pool.closeForgotten();
      else pool.close();
    }
  }

  /** `address`: tried before the other addresses of the name. */
  #poolAt(address: string | undefined): ConnectionPool {
    /** The begin of the first connection that was made at another address, monotonic ms. Undefined while `address` answers. */
    let failingSince: number | undefined;
    const usableUntil = ({ socket, begunAt }: Connection): number => {
      const remoteAddress = addressWithoutZone(socket.remoteAddress ?? '');
      if (pool === this.#unresolved) return Number.POSITIVE_INFINITY;
      if (!this.#pools.has(remoteAddress)) return Number.NEGATIVE_INFINITY;
      if (remoteAddress === address) {
        failingSince = undefined;
        return Number.POSITIVE_INFINITY;
      }
      failingSince ??= begunAt;
      const { least, most } = keptElsewhereMs;
      return begunAt + Math.min(Math.max(begunAt - failingSince, least), most);
    };
    const onLost = (wasConnected: boolean) => this.#resolution.connectionLost({ wasConnected });
    const pool = new ConnectionPool(this.#endpointAt(address), this.#keepAlive, { onLost, usableUntil });
    return pool;
  }

  #endpointAt(address: string | undefined): Endpoint {
    return {
      ...this.#endpoint,
      lookup: this.#resolution.lookupOf(address),
      isCurrent: (remoteAddress) => this.#resolution.isCurrent(addressWithoutZone(remoteAddress)),
    };
  }
}

/** `fe80::1%eth0` without `%eth0`, as resolvers return it. */
function addressWithoutZone(address: string): string {
  return address.includes('%') ? address.slice(0, address.indexOf('%')) : address;
}
