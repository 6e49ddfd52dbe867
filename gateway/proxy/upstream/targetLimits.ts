import type { Target } from './target.ts';

/** How many requests of one version are in flight at one target. */
export class TargetUse {
  inFlight = 0;
}

/** The use of targets by one version. Kept across reloads. */
export class TargetUses {
  readonly #uses = new Map<Target, TargetUse>();
  // Most versions have one target.
  #lastTarget: Target | undefined;
  #lastUse = new TargetUse();

  of(target: Target): TargetUse {
    if (target === this.#lastTarget) return this.#lastUse;
    const use = this.#uses.get(target) ?? new TargetUse();
    this.#uses.set(target, use);
    this.#lastTarget = target;
    this.#lastUse = use;
    return use;
  }

  /** Forgets targets that the version does not have any more. Their requests in flight keep their `TargetUse`. */
  keepOnly(targets: readonly Target[]): void {
    for (const target of this.#uses.keys()) if (!targets.includes(target)) this.#uses.delete(target);
    this.#lastTarget = undefined;
  }

  /** How many requests of the version a connection has in flight. */
  inFlightOn(connection: ConnectionLoad): number {
    let sum = 0;
    for (const use of this.#uses.values()) sum += connection.inFlightAt(use);
    return sum;
  }
}

/** The requests of one client connection that carries several at the same time: HTTP/2. */
export class ConnectionLoad {
  /** How many of its requests wait because a limit is reached. */
  waiting = 0;
  // Entries stay when their count is 0: a `Map` whose entries come and go is rehashed often.
  readonly #inFlight = new Map<TargetUse, number>();

  inFlightAt(use: TargetUse): number {
    return this.#inFlight.get(use) ?? 0;
  }

  add(use: TargetUse, count: 1 | -1): void {
    this.#inFlight.set(use, this.inFlightAt(use) + count);
  }
}

/** Another version that uses the same target. */
export interface SharingVersion {
  readonly use: TargetUse;
  /** The number of requests for which the target is kept free for that version. */
  readonly guaranteed: number;
}

/**
 * How many requests of one version may be in flight at each of its targets (`limits.in_flight_per_target`).
 *
 * The last quarter of the places is kept for connections that have no request at the target yet, so that a few connections with many
 * streams cannot take all places. If several versions share a target, half of its places are divided among them, and each version's part
 * is kept free for it.
 */
export class TargetLimits {
  readonly #limit: number;
  readonly #uses: TargetUses;
  /** The targets that other versions use, too. */
  readonly #sharing: ReadonlyMap<Target, readonly SharingVersion[]>;

  constructor(
    limit: number,
    uses: TargetUses = new TargetUses(),
    sharing: ReadonlyMap<Target, readonly SharingVersion[]> = new Map(),
  ) {
    this.#limit = limit;
    this.#uses = uses;
    this.#sharing = sharing;
  }

  /** How many more requests of the version the target may get. 0 or less: none. */
  freeAt(target: Target): number {
    let free = this.#limit - target.inFlight;
    if (this.#sharing.size === 0) return free;
    for (const { use, guaranteed } of this.#sharing.get(target) ?? [])
      if (use.inFlight < guaranteed) free -= guaranteed - use.inFlight;
    return free;
  }

  /** Whether the target may get a request that has arrived on `connection`; undefined: on a connection of its own. */
  hasRoom(target: Target, connection: ConnectionLoad | undefined): boolean {
    const free = this.freeAt(target);
    return (
      free > 0 && (connection === undefined || mayTakePlace(this.#inFlightOn(connection, target), free, this.#limit))
    );
  }

  /** How many requests the connection has at the target, those of other versions included. */
  #inFlightOn(connection: ConnectionLoad, target: Target): number {
    let sum = connection.inFlightAt(this.#uses.of(target));
    for (const { use } of this.#sharing.get(target) ?? []) sum += connection.inFlightAt(use);
    return sum;
  }
}

/** Whether a connection that has `own` places may take one more, while `free` of `limit` places are left for all connections. */
export function mayTakePlace(own: number, free: number, limit: number): boolean {
  return free > (own === 0 ? 0 : Math.floor(limit / 4));
}

/** What is kept free for one of `count` versions at a target, where both versions in question have at least this limit. */
export function guaranteedPlaces(limit: number, count: number): number {
  return Math.floor(limit / (2 * count));
}
