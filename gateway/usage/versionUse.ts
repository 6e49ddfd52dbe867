/** Somebody who waits for room. */
export interface Turn {
  take(): void;
}

/** How a version is being used, kept by name over every reload. */
export class VersionUse {
  /** Requests and streams that are under way. */
  inFlight = 0;
  /** When the last request was sent on to a target, epoch ms; undefined: never since the start. */
  lastServed: number | undefined;
  /** Who waits because a limit is reached, the first one first. */
  readonly waiting: Turn[] = [];
}
