import type { Target } from '../upstream/target.ts';
import type { OpenRequest } from '../usage/counting/collector.ts';
import type { CountedExchange } from '../usage/counting/countedExchange.ts';
import { AdmissionQueue } from './admissionQueue.ts';

/** A request, stream or tunnel that has not ended. It counts towards limits, and a shutdown or reload may end it. */
export interface InFlight {
  /** The segment, `v1`. */
  readonly versionName: string;
  /** Undefined if the application answers the request itself. */
  readonly chosenTarget: Target | undefined;
  /** Set once it is counted, which happens before its end if it is long. */
  counted: OpenRequest | undefined;
  /** The status of the response; 0 if it has not begun. */
  readonly status: number;
  /** The data for the usage ledger, as far as they are known. */
  countedSoFar(): CountedExchange;
  /** Call this when its version, its target or the gateway stops. Ends endless streams cleanly. Safe to call twice. */
  goAway(): void;
  /** Call this when its time to finish is over. Ends it at once. */
  cut(): void;
}

/** How a version is being used. Kept by version name across reloads. */
export class VersionUse {
  readonly inFlight = new Set<InFlight>();
  readonly queue = new AdmissionQueue();
  #lastInFlight: number | undefined;
  /** When the last request was answered 410, epoch ms; undefined: never since the start. */
  lastRefused: number | undefined;

  get inFlightCount(): number {
    return this.inFlight.size;
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

  enter(exchange: InFlight): void {
    this.inFlight.add(exchange);
  }

  /** Frees a place for the queue. Safe to call twice. `now`: epoch ms. */
  leave(exchange: InFlight, now: number): void {
    if (!this.inFlight.delete(exchange)) return;
    this.#lastInFlight = now;
    this.queue.admitNext();
  }
}
