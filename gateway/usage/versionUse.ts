import type { Target } from '../upstream/target.ts';

/** Somebody who waits for room. */
export interface Turn {
  take(): void;
}

/** A request or stream on its way. */
export interface Underway {
  /** The segment, `v1`. */
  readonly version: string;
  readonly target: Target;
  /** Nobody wants it any more: what would go on for ever ends now, in good order. Safe to call twice. */
  goAway(): void;
  /** It has had its time to finish. */
  cut(): void;
}

/** How a version is being used, kept by name over every reload. */
export class VersionUse {
  readonly underway = new Set<Underway>();
  /** When the last request was sent on to a target, epoch ms; undefined: never since the start. */
  lastServed: number | undefined;
  /** When the last request was answered 410, epoch ms; undefined: never since the start. */
  lastRefused: number | undefined;
  /** Who waits because a limit is reached, the first one first. */
  readonly waiting: Turn[] = [];

  get inFlight(): number {
    return this.underway.size;
  }

  /** `now`: epoch ms. */
  enter(one: Underway, now: number): void {
    this.underway.add(one);
    this.lastServed = now;
  }

  /** Safe to call twice. Its place goes to whoever has waited longest. */
  leave(one: Underway): void {
    if (this.underway.delete(one)) this.waiting[0]?.take();
  }
}
