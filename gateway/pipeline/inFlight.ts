import type { Target } from '../upstream/target.ts';
import type { OpenRequest } from '../usage/counting/collector.ts';
import type { CountedExchange } from '../usage/counting/countedExchange.ts';

/** Somebody who waits for room. */
export interface QueuedRequest {
  take(): void;
}

/** A request or stream on its way. */
export interface InFlight {
  /** The segment, `v1`. */
  readonly version: string;
  /** Undefined if the application answers the request itself. */
  readonly target: Target | undefined;
  /** Set once it is counted, which is before its end if it is long. */
  counted: OpenRequest | undefined;
  /** Of the response; 0 while there is none. */
  readonly status: number;
  /** What can be counted of it now. */
  soFar(): CountedExchange;
  /** Nobody wants it any more: what would go on for ever ends now, in good order. Safe to call twice. */
  goAway(): void;
  /** It has had its time to finish. */
  cut(): void;
}

/** How a version is being used, kept by name over every reload. */
export class VersionUse {
  readonly inFlight = new Set<InFlight>();
  #lastServed: number | undefined;
  /** When the last request was answered 410, epoch ms; undefined: never since the start. */
  lastRefused: number | undefined;
  /** Who waits because a limit is reached, the first one first. */
  readonly queue: QueuedRequest[] = [];

  get inFlightCount(): number {
    return this.inFlight.size;
  }

  /** When a request or stream was last on its way, epoch ms: `now` while one is. Undefined: never since the start. */
  lastServed(now: number): number | undefined {
    return this.inFlightCount > 0 ? now : this.#lastServed;
  }

  /** The clock was set forward by so many ms: the instants that it gave before follow. */
  clockWasSet(by: number): void {
    if (this.#lastServed !== undefined) this.#lastServed += by;
    if (this.lastRefused !== undefined) this.lastRefused += by;
  }

  enter(one: InFlight): void {
    this.inFlight.add(one);
  }

  /** Safe to call twice. Its place goes to whoever has waited longest. `now`: epoch ms. */
  leave(one: InFlight, now: number): void {
    if (!this.inFlight.delete(one)) return;
    this.#lastServed = now;
    this.queue[0]?.take();
  }
}
