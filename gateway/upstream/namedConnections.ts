import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { type Connection, ConnectionPool, type Endpoint } from '../http1/connection.ts';

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

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a host name. @throws if the name has none or cannot be resolved */
export type Resolve = (name: string) => Promise<readonly ResolvedAddress[]>;

/** Resolves like the system, with /etc/hosts and DNS. */
export const systemResolve: Resolve = (name) => lookup(name, { all: true });

/** Whether a host is a name and not an IP address. The addresses of a name may change. */
export function isHostName(host: string): boolean {
  return isIP(host) === 0;
}

// A new replica gets requests within 5 s if a lookup takes at most 1 s.
const resolveEveryMs = 4_000;

/**
 * The connections to a host name: one pool per address, used round-robin. With a single pool, the first address that answered
 * would keep all connections, and a replica added later would get no requests.
 */
export class NamedConnections implements Connections {
  readonly #endpoint: Endpoint;
  readonly #resolve: Resolve;
  // Until the first lookup succeeds, the system resolves the name for each connection.
  readonly #unresolved: ConnectionPool;
  /** From each address to its pool. */
  #pools: ReadonlyMap<string, ConnectionPool> = new Map();
  #rotation: readonly ConnectionPool[];
  #nextIndex = 0;
  #addresses: readonly ResolvedAddress[] = [];
  #keepAlive: number;
  #timer: NodeJS.Timeout | undefined;
  #isRefreshing = false;

  constructor(endpoint: Endpoint, keepAlive: number, resolve: Resolve) {
    this.#endpoint = endpoint;
    this.#keepAlive = keepAlive;
    this.#resolve = resolve;
    this.#unresolved = new ConnectionPool(endpoint, keepAlive);
    this.#rotation = [this.#unresolved];
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
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    void this.#refresh();
  }

  close(): void {
    this.#isRefreshing = false;
    clearTimeout(this.#timer);
    for (const pool of this.#rotation) pool.close();
  }

  /** A lookup that returns the known addresses, beginning with `first`, which Node tries first. */
  knownAddressLookup(first?: string): LookupFunction | undefined {
    if (this.#addresses.length === 0) return undefined;
    return (_name, { all }, callback) => {
      const sorted = this.#addresses.toSorted((a, b) => Number(b.address === first) - Number(a.address === first));
      const [preferred] = sorted;
      if (all) callback(null, [...sorted]);
      else if (preferred) callback(null, preferred.address, preferred.family);
    };
  }

  #nextPool(): ConnectionPool {
    this.#nextIndex = (this.#nextIndex + 1) % this.#rotation.length;
    return this.#rotation[this.#nextIndex] ?? this.#unresolved;
  }

  async #refresh(): Promise<void> {
    try {
      this.#useAddresses(await this.#resolve(this.#endpoint.host));
    } catch {
      // The lookup failed: the last known addresses stay in use.
    }
    if (this.#isRefreshing) this.#timer = setTimeout(() => void this.#refresh(), resolveEveryMs).unref();
  }

  #useAddresses(addresses: readonly ResolvedAddress[]): void {
    if (!this.#isRefreshing || addresses.length === 0) return;
    this.#addresses = addresses;
    const formerPools = this.#pools;
    const currentAddresses = new Set(addresses.map(({ address }) => address));
    const areUnchanged =
      currentAddresses.size === formerPools.size && [...currentAddresses].every((address) => formerPools.has(address));
    if (areUnchanged) return;
    this.#pools = new Map(
      [...currentAddresses].map((address) => [address, formerPools.get(address) ?? this.#poolAt(address)]),
    );
    this.#rotation = [...this.#pools.values()];
    this.#unresolved.close();
    for (const [address, pool] of formerPools) if (!currentAddresses.has(address)) pool.close();
  }

  #poolAt(address: string): ConnectionPool {
    const lookup: LookupFunction = (name, options, callback) =>
      this.knownAddressLookup(address)?.(name, options, callback);
    return new ConnectionPool({ ...this.#endpoint, lookup }, this.#keepAlive);
  }
}
