import type { Snapshot, Version } from '../config/snapshot.ts';
import type { LifecycleFields } from '../forwarding/responseFields.ts';
import type { Rewriting } from '../forwarding/rewrite.ts';
import { type Announcement, announce, linksFor } from '../lifecycle/announcement.ts';
import type { Stage } from '../lifecycle/stage.ts';
import type { Pool } from '../upstream/pool.ts';

/** A version at work: what is the same for all its requests, worked out once. */
export class Served {
  readonly version: Version;
  readonly pool: Pool;
  /** Undefined where the prefix is forwarded. */
  readonly rewriting: Rewriting | undefined;
  /** What is taken off the path before it is sent, '' for nothing. */
  readonly removedPrefix: string;
  inFlight = 0;
  readonly #snapshot: Snapshot;
  #announcement: Announcement | undefined;
  #second = Number.NaN;

  constructor(version: Version, snapshot: Snapshot, pool: Pool) {
    const { basePath } = snapshot.gateway;
    const stripped = version.prefix === 'strip';
    this.version = version;
    this.pool = pool;
    this.removedPrefix = stripped ? `${basePath}/${version.name}` : basePath;
    this.rewriting = stripped
      ? { prefix: this.removedPrefix, basePath, isVersion: (segment) => snapshot.versions.has(segment) }
      : undefined;
    this.#snapshot = snapshot;
  }

  stage(now: number): Stage {
    return this.#announcementAt(now)?.stage ?? 'active';
  }

  successor(now: number): Version | undefined {
    return this.#announcementAt(now)?.successor;
  }

  /** What the response to `path` (without version and query) says about this version's end. */
  lifecycle(path: string, now: number): LifecycleFields | undefined {
    const announcement = this.#announcementAt(now);
    if (announcement === undefined) return undefined;
    return {
      deprecation: announcement.deprecation,
      sunset: announcement.sunset,
      links: linksFor(path, this.version, announcement, this.#snapshot, now),
      deprecatedAt: this.version.deprecation,
    };
  }

  /** Dates have the resolution of a second, so once a second is often enough to work this out. */
  #announcementAt(now: number): Announcement | undefined {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#announcement = announce(this.version, this.#snapshot, now);
    }
    return this.#announcement;
  }
}
