import type { Snapshot, Version } from '../config/snapshot.ts';
import type { LifecycleFields } from '../forwarding/responseFields.ts';
import type { Rewriting } from '../forwarding/rewrite.ts';
import { linksFor } from '../lifecycle/announcement.ts';
import type { Stage } from '../lifecycle/stage.ts';
import type { Pool } from '../upstream/pool.ts';
import type { Announcements } from './announcements.ts';
import type { VersionUse } from './inFlight.ts';

/** A version at work: what is the same for all its requests, worked out once. */
export class ActiveVersion {
  readonly version: Version;
  readonly pool: Pool;
  /** Undefined where the prefix is forwarded. */
  readonly rewriting: Rewriting | undefined;
  /** What is taken off the path before it is sent, '' for nothing. */
  readonly removedPrefix: string;
  /** Of `public_url`, '' without one. */
  readonly publicAuthority: string;
  readonly use: VersionUse;
  readonly #announcements: Announcements;
  readonly #basePath: string;

  constructor(version: Version, snapshot: Snapshot, pool: Pool, use: VersionUse, announcements: Announcements) {
    const { basePath, publicUrl } = snapshot.gateway;
    const stripped = version.prefix === 'strip';
    this.version = version;
    this.pool = pool;
    this.use = use;
    this.removedPrefix = stripped ? `${basePath}/${version.name}` : basePath;
    this.rewriting = stripped
      ? { prefix: this.removedPrefix, basePath, isVersion: (segment) => snapshot.versions.has(segment) }
      : undefined;
    this.publicAuthority = publicUrl === undefined ? '' : new URL(publicUrl).host;
    this.#announcements = announcements;
    this.#basePath = basePath;
  }

  stage(now: number): Stage {
    return this.#announcements.of(this.version, now)?.stage ?? 'active';
  }

  successor(now: number): Version | undefined {
    return this.#announcements.of(this.version, now)?.toSuccessor?.end;
  }

  /** What the response to `path` (without version and query) says about this version's end. */
  lifecycle(path: string, now: number): LifecycleFields | undefined {
    const announcement = this.#announcements.of(this.version, now);
    if (announcement === undefined) return undefined;
    return {
      deprecation: announcement.deprecation,
      sunset: announcement.sunset,
      links: linksFor(path, announcement, this.#basePath),
      deprecatedAt: this.version.deprecation,
    };
  }
}
