import type { Snapshot, Version } from '../config/snapshot.ts';
import { type Announcement, announcementsAt } from '../lifecycle/announcement.ts';

/** What the versions of a snapshot say about their ends, worked out once a second: dates have no finer resolution. */
export class Announcements {
  readonly #snapshot: Snapshot;
  #second = Number.NaN;
  #byVersion: ReadonlyMap<Version, Announcement> = new Map();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  /** Undefined for a version that is active at `now`. */
  of(version: Version, now: number): Announcement | undefined {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#byVersion = announcementsAt(this.#snapshot, now);
    }
    return this.#byVersion.get(version);
  }
}
