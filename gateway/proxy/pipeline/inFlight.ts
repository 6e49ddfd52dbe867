import { performance } from 'node:perf_hooks';
import type { AdapterState } from '../../contracts/adapters/serving/versionAdapter.ts';
import { deadlineIn, type Timed, unwatchDeadline, watchDeadline } from '../../http1/deadlines.ts';
import type { OpenRequest } from '../../usage/counting/collector.ts';
import type { CountedExchange } from '../../usage/counting/countedExchange.ts';
import type { Waivers } from '../../versions/restrictions/restriction.ts';
import type { Target } from '../upstream/target.ts';
import { type ConnectionLoad, mayTakePlace, TargetUses } from '../upstream/targetLimits.ts';

/** A request, stream or tunnel that has not ended. It counts towards limits, and a shutdown or reload may end it. */
export interface InFlight {
  /** Its index in its `InFlightList`; -1: it is in no list. Only the list sets it. */
  inFlightIndex: number;
  /** The segment, `v1`. */
  readonly versionName: string;
  /** Undefined if the application answers the request itself. */
  readonly chosenTarget: Target | undefined;
  /** Set once the request is counted. A long request is counted before it ends. */
  counted: OpenRequest | undefined;
  /** The status of the response; 0 if it has not begun. */
  readonly status: number;
  /** The data for the usage ledger, as far as they are known. */
  countedSoFar(): CountedExchange;
  /** The name of its client in the usage ledger. */
  identify(): string;
  /** Whether its client has a waiver that has not ended. `now`: epoch ms. */
  isWaived(restrictions: Waivers, now: number): boolean;
  /** Call this when its version, its target or the gateway stops. Ends endless streams cleanly. Safe to call twice. */
  endIfEndless(): void;
  /** Call this when its time to finish is over. Ends it at once. */
  cut(): void;
}

/**
 * The exchanges in flight of a version. Not a `Set`, because every request would change it, and V8 would often rehash it. Each
 * rehash replaces the table of the `Set`. A replaced table still refers to its exchanges and to the table that replaced it. Once one
 * replaced table is in the old generation, all later ones survive until a major garbage collection, and scavenges take ten times
 * as long.
 */
export class InFlightList {
  readonly #exchanges: InFlight[] = [];

  get size(): number {
    return this.#exchanges.length;
  }

  add(exchange: InFlight): void {
    if (exchange.inFlightIndex !== -1) return;
    exchange.inFlightIndex = this.#exchanges.push(exchange) - 1;
  }

  /** False if `exchange` is not in the list. */
  delete(exchange: InFlight): boolean {
    const index = exchange.inFlightIndex;
    if (index === -1) return false;
    exchange.inFlightIndex = -1;
    const last = this.#exchanges.pop() as InFlight;
    if (last === exchange) return true;
    this.#exchanges[index] = last;
    last.inFlightIndex = index;
    return true;
  }

  /**
   * Exchanges may end during the iteration. It goes backwards, because a deletion moves the last exchange to a lower index. So no
   * exchange is skipped, but an exchange that is moved may be visited twice.
   */
  *[Symbol.iterator](): Generator<InFlight> {
    for (let at = this.#exchanges.length - 1; at >= 0; at -= 1) {
      const exchange = this.#exchanges[at];
      if (exchange) yield exchange;
    }
  }
}

/** The requests of a version that are in flight or wait, and counters of its requests. Kept by version name across reloads. */
export class VersionRequests {
  readonly inFlight = new InFlightList();
  readonly queue = new AdmissionQueue();
  /**
   * The requests of this version and of all versions that have a target in common with it. An adapted version has the targets
   * of its source.
   */
  requestsWithSharedTargets: readonly VersionRequests[] = [this];
  readonly targetUses = new TargetUses();
  /** `limits.in_flight` */
  maxInFlight = Number.POSITIVE_INFINITY;
  /** Undefined until an adapter serves a request of the version. */
  adapterState: AdapterState | undefined;
  #lastInFlight: number | undefined;
  /** From this time on, the next request is marked as a call of the version, epoch ms. */
  nextMarkAt = 0;
  /** When the last request was answered 410, epoch ms; undefined: never since the start. */
  lastRefused: number | undefined;

  get inFlightCount(): number {
    return this.inFlight.size;
  }

  /** Whether one more request of the version may be in flight: one on `connection`, only those on other connections, or none. */
  roomFor(connection: ConnectionLoad | undefined): 'some' | 'others' | 'none' {
    const free = this.maxInFlight - this.inFlightCount;
    if (free <= 0) return 'none';
    if (connection === undefined) return 'some';
    return mayTakePlace(this.targetUses.inFlightOn(connection), free, this.maxInFlight) ? 'some' : 'others';
  }

  /** When a request or stream was last in flight, epoch ms: `now` while one is. Undefined: never since the start. */
  lastInFlight(now: number): number | undefined {
    return this.inFlightCount > 0 ? now : this.#lastInFlight;
  }

  /** The wall clock was set forward by `ms`: moves the recorded instants by the same time. */
  clockWasSet(ms: number): void {
    if (this.#lastInFlight !== undefined) this.#lastInFlight += ms;
    if (this.lastRefused !== undefined) this.lastRefused += ms;
  }

  addInFlight(exchange: InFlight): void {
    this.inFlight.add(exchange);
  }

  /** Frees a place for queued requests. Safe to call twice. `now`: epoch ms. */
  removeInFlight(exchange: InFlight, now: number): void {
    if (!this.inFlight.delete(exchange)) return;
    this.#lastInFlight = now;
    this.admitWaiting();
  }

  /** Admits queued requests for which there is room. Called when a place is free, and when a reload may have raised a limit. */
  admitWaiting(): void {
    const isAnyWaiting = this.requestsWithSharedTargets.some(({ queue }) => queue.length > 0);
    if (isAnyWaiting) admitOldestFirst(this.requestsWithSharedTargets);
  }
}

/**
 * Admits queued requests until no version has one for which there is room. The version whose oldest request has waited longest
 * comes first.
 */
function admitOldestFirst(versions: readonly VersionRequests[]): void {
  const waiting = versions.filter(({ queue }) => queue.length > 0);
  for (;;) {
    waiting.sort((a, b) => a.queue.waitingSince - b.queue.waitingSince);
    if (!waiting.some((one) => one.inFlightCount < one.maxInFlight && one.queue.admitNext())) return;
  }
}

// A short queue absorbs a burst; a long one only delays every client.
const maxQueued = 1000;

/** What happens to a queued request. */
export interface Waiter {
  /** Undefined: it waits on a connection of its own. */
  readonly connection: ConnectionLoad | undefined;
  /** Costs less than `findRoom`. `others`: there is room, but only for requests on other connections. */
  readonly room: () => 'some' | 'others' | 'none';
  /** Returns the function that runs the request; undefined while there is no room for it. */
  readonly findRoom: () => (() => void) | undefined;
  /** The request has waited for its whole time. */
  readonly expire: () => void;
}

/** The requests of a version that wait because a limit is reached, oldest first. */
class AdmissionQueue {
  readonly #requests: QueuedRequest[] = [];

  get length(): number {
    return this.#requests.length;
  }

  /** Undefined if the queue is full, for all connections or for that of the request. */
  add(maxWaitMs: number, waiter: Waiter): QueuedRequest | undefined {
    const isAdmitted = mayTakePlace(waiter.connection?.waiting ?? 0, maxQueued - this.#requests.length, maxQueued);
    return isAdmitted ? new QueuedRequest(this.#requests, maxWaitMs, waiter) : undefined;
  }

  /** When the oldest request began to wait, in ms of `performance.now()`. Infinite if none waits. */
  get waitingSince(): number {
    return this.#requests[0]?.waitingSince ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Admits the oldest request whose connection may have another one in flight. False if there is none, or if there is no room for it: it
   * then keeps its place.
   */
  admitNext(): boolean {
    for (const request of this.#requests) {
      const room = request.room;
      if (room !== 'others') return room === 'some' && request.admit();
    }
    return false;
  }

  expireAll(): void {
    for (const request of [...this.#requests]) request.onDeadline();
  }
}

class QueuedRequest implements Timed {
  deadline: number;
  readonly waitingSince = performance.now();
  readonly #queue: QueuedRequest[];
  readonly #waiter: Waiter;

  constructor(queue: QueuedRequest[], maxWaitMs: number, waiter: Waiter) {
    this.deadline = deadlineIn(maxWaitMs);
    this.#queue = queue;
    this.#waiter = waiter;
    if (waiter.connection) waiter.connection.waiting += 1;
    queue.push(this);
    watchDeadline(this);
  }

  get room(): ReturnType<Waiter['room']> {
    return this.#waiter.room();
  }

  admit(): boolean {
    const run = this.#waiter.findRoom();
    if (run === undefined) return false;
    // The request leaves the queue first. If it ends within `run()`, its end admits the next request, which must not be this one again.
    this.leave();
    run();
    return true;
  }

  onDeadline(): void {
    this.leave();
    this.#waiter.expire();
  }

  /** Safe to call twice. */
  leave(): void {
    const at = this.#queue.indexOf(this);
    if (at === -1) return;
    this.#queue.splice(at, 1);
    if (this.#waiter.connection) this.#waiter.connection.waiting -= 1;
    unwatchDeadline(this);
  }
}
