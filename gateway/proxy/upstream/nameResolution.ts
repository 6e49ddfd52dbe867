import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { performance } from 'node:perf_hooks';
import { messageOf } from '../../shared/text.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** All addresses of a host name. @throws if the name has none or cannot be resolved */
export type Resolve = (name: string) => Promise<readonly ResolvedAddress[]>;

/** Resolves like the system, with /etc/hosts and DNS. */
export const systemResolve: Resolve = (name) => lookup(name, { all: true });

// Finds new replicas, which no failed connection announces. A new replica is known within 5 s if a lookup takes at most 1 s.
const refreshMs = 4_000;
// A new connection uses the answer of a lookup that began at most this long before. The address of a stopped container can be given
// to another container within a tenth of a second, and requests carry credentials. This is also the shortest time between lookups.
const freshMs = 20;
// A resolver that cannot reach its server takes about five seconds to say so. A second lookup that begins meanwhile notices a backend
// that has just started. There are at most two: each occupies one of the few threads that Node has for lookups and files.
const overlapMs = 2_000;
const maxLookups = 2;
// While the resolver fails, it is not known whether the name still has its addresses.
const keptMs = 10_000;

/** The answers of a resolver that are certain: the name does not exist, or it has no address. */
const certainCodes: readonly unknown[] = ['ENOTFOUND', 'ENODATA'];

/**
 * The present addresses of a host name. They are forgotten at once if the name does not exist any more. If the resolver fails in
 * another way, they are kept, but only for 10 s once a connection has failed, too.
 */
export class NameResolution {
  readonly #name: string;
  readonly #resolve: Resolve;
  readonly #onAddresses: (addresses: readonly ResolvedAddress[]) => void;
  #addresses: readonly ResolvedAddress[] = [];
  #error: Error;
  /** The lookups in progress. */
  readonly #lookups = new Set<Promise<void>>();
  // The following times are ms of `performance.now()`.
  #lastBegan = Number.NEGATIVE_INFINITY;
  /** The begin of the latest lookup that has ended, with or without an answer. */
  #settledBegan = Number.NEGATIVE_INFINITY;
  /** When a connection was last lost or not made. */
  #lostAt = Number.NEGATIVE_INFINITY;
  /** Undefined while the resolver answers. */
  #failingSince: number | undefined;
  /** Whether a connection could not be made since the last answer of the resolver. */
  #connectFailed = false;
  #timer: NodeJS.Timeout | undefined;
  #isRefreshing = false;

  constructor(name: string, resolve: Resolve, onAddresses: (addresses: readonly ResolvedAddress[]) => void) {
    this.#name = name;
    this.#resolve = resolve;
    this.#onAddresses = onAddresses;
    this.#error = new Error(`${name} is not resolved yet`);
  }

  /** Resolves the name at once, and then periodically until `stop`. Safe to call twice. */
  startRefresh(): void {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    this.#begin();
  }

  stop(): void {
    this.#isRefreshing = false;
    clearTimeout(this.#timer);
  }

  /**
   * A connection could not be made, or the target has closed it without notice: its address may belong to another host now.
   */
  connectionLost({ wasConnected }: { readonly wasConnected: boolean }): void {
    this.#lostAt = performance.now();
    if (!wasConnected) this.#connectFailed = true;
    if (this.#isRefreshing) this.#begin();
  }

  /**
   * The lookup of a new connection: the present addresses, beginning with `first`, which Node tries first. It fails if the name has
   * no address.
   */
  lookupOf(first?: string): LookupFunction {
    return (_name, { all }, callback) => {
      const answer = (): void => {
        const sorted = this.#addresses.toSorted((a, b) => Number(b.address === first) - Number(a.address === first));
        const [preferred] = sorted;
        if (preferred === undefined) callback(this.#error, []);
        else if (all) callback(null, sorted);
        else callback(null, preferred.address, preferred.family);
      };
      const confirmed = this.#confirm();
      if (confirmed) void confirmed.then(answer);
      // Never before `connect` returns: the events of the socket have no listeners yet.
      else queueMicrotask(answer);
    };
  }

  /**
   * Whether an address that has just been connected belongs to the name. A connection may be made seconds after its lookup: while no
   * host has the address, the kernel repeats its attempt.
   */
  isCurrent(address: string): true | Promise<boolean> {
    const isKnown = (): boolean => this.#addresses.some((known) => known.address === address);
    return this.#confirm()?.then(isKnown) ?? (isKnown() || Promise.resolve(false));
  }

  /** Makes sure that the addresses are those of a recent lookup. Undefined: they are. */
  #confirm(): Promise<void> | undefined {
    const needed = Math.max(performance.now() - freshMs, this.#lostAt);
    if (this.#settledBegan > needed) return undefined;
    if (!this.#usesKeptAddresses()) return this.#confirmSince(needed);
    // No connection waits for a resolver that fails. A slow one is waited for: only it knows whether the backend was stopped.
    this.#begin();
    return undefined;
  }

  async #confirmSince(needed: number): Promise<void> {
    do {
      await this.#begin();
      // A lookup that began earlier may have the addresses of before.
    } while (this.#settledBegan <= needed && !this.#usesKeptAddresses());
  }

  #usesKeptAddresses(): boolean {
    this.#forgetAfterLongFailure();
    return this.#failingSince !== undefined && this.#addresses.length > 0;
  }

  /** Begins a lookup, unless one has begun a short time before. The promise ends with the first lookup that ends. */
  #begin(): Promise<void> {
    const isSlow = performance.now() - this.#lastBegan >= overlapMs;
    if (this.#lookups.size === 0 || (isSlow && this.#lookups.size < maxLookups)) {
      const lookup = this.#run().then(() => {
        this.#lookups.delete(lookup);
        clearTimeout(this.#timer);
        if (this.#isRefreshing) this.#timer = setTimeout(() => this.#begin(), refreshMs).unref();
      });
      this.#lookups.add(lookup);
    }
    return Promise.race(this.#lookups);
  }

  async #run(): Promise<void> {
    clearTimeout(this.#timer);
    const pause = this.#lastBegan + freshMs - performance.now();
    if (pause > 0) await new Promise<void>((done) => setTimeout(done, pause).unref());
    const began = performance.now();
    this.#lastBegan = began;
    let addresses: readonly ResolvedAddress[] = [];
    let failure: unknown;
    try {
      addresses = await this.#resolve(this.#name);
    } catch (error) {
      failure = error;
    }
    // A lookup that began later has ended before: it knows more.
    if (began < this.#settledBegan) return;
    this.#settledBegan = began;
    const code = failure instanceof Error && 'code' in failure ? failure.code : undefined;
    if (failure === undefined) this.#answered(addresses, 'it has no address');
    else if (certainCodes.includes(code)) this.#answered([], String(code));
    else this.#fails(began, new Error(`${this.#name} cannot be resolved: ${messageOf(failure)}`));
  }

  /** `why`: why there are no addresses, if there are none. */
  #answered(addresses: readonly ResolvedAddress[], why: string): void {
    this.#failingSince = undefined;
    this.#connectFailed = false;
    this.#error = new Error(`${this.#name} does not resolve to an address: ${why}`);
    this.#use(addresses);
  }

  #fails(since: number, error: Error): void {
    this.#failingSince ??= since;
    this.#error = error;
    this.#forgetAfterLongFailure();
  }

  #forgetAfterLongFailure(): void {
    if (this.#failingSince === undefined || !this.#connectFailed || this.#addresses.length === 0) return;
    if (performance.now() - this.#failingSince >= keptMs) this.#use([]);
  }

  #use(addresses: readonly ResolvedAddress[]): void {
    this.#addresses = addresses;
    this.#onAddresses(addresses);
  }
}
