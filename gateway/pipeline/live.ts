import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Snapshot } from '../config/snapshot.ts';
import type { Recorder } from '../observability/exchangeRecord.ts';
import { Pool } from '../upstream/pool.ts';
import { ActiveVersion } from './activeVersion.ts';
import { Announcements } from './announcements.ts';
import { VersionUse } from './inFlight.ts';

/** A snapshot at work. A reload puts another one in its place, in one assignment. */
export interface Live {
  readonly snapshot: Snapshot;
  /** By path segment. */
  readonly activeVersions: ReadonlyMap<string, ActiveVersion>;
}

/** What every exchange needs to know of the gateway it is in. */
export interface GatewayContext {
  /** Another one after a reload: an exchange keeps the one that it began with. */
  live: Live;
  readonly now: () => number;
  /** Ours in Via: random, so that it names this very process and nothing else. */
  readonly pseudonym: string;
  /** Exchanges that have begun and are not yet recorded. */
  unrecorded: number;
  /** No new work is wanted: every answer says `Connection: close`. */
  draining: boolean;
  /** Hears of every exchange that ends; undefined: nobody does. */
  recorder?: Recorder | undefined;
  readonly isDiscovery: (path: string, snapshot: Snapshot) => boolean;
  /** Undefined where `isDiscovery` is always false. */
  readonly discovery: ((req: IncomingMessage, res: ServerResponse) => void) | undefined;
}

/** Puts a snapshot to work. `uses` are kept over every reload, and gain what is new. */
export function activate(snapshot: Snapshot, pools: ReadonlyMap<string, Pool>, uses: Map<string, VersionUse>): Live {
  const activeVersions = new Map<string, ActiveVersion>();
  const announcements = new Announcements(snapshot);
  for (const version of snapshot.byMajor) {
    const { name } = version;
    const use = uses.get(name) ?? new VersionUse();
    uses.set(name, use);
    activeVersions.set(
      name,
      new ActiveVersion(version, snapshot, pools.get(name) ?? new Pool([], version.balance), use, announcements),
    );
  }
  return { snapshot, activeVersions };
}

export function newPseudonym(): string {
  return `version-gateway-${randomBytes(6).toString('hex')}`;
}
