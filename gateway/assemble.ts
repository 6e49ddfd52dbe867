import { createServer, type Server } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { createAdmin } from './admin/app.ts';
import type { Snapshot } from './config/snapshot.ts';
import { createDiscovery } from './discovery/app.ts';
import { isDiscovery } from './discovery/paths.ts';
import { adjustFrontDoor, createFrontDoor } from './pipeline/frontDoor.ts';
import { end, listen, portOf } from './pipeline/listener.ts';
import { bring, newPseudonym, type Surroundings } from './pipeline/live.ts';
import { type ConfigStatus, type Outcome, Reloader, type Trigger } from './reload.ts';
import { type Clock, systemClock } from './shared/clock.ts';
import { Registry } from './upstream/registry.ts';
import type { VersionUse } from './usage/versionUse.ts';

export interface RunningGateway {
  /** What the listeners are bound to: another port than the file's where that is 0. */
  readonly port: number;
  readonly adminPort: number;
  /** Serves what the file says now, if that is sound and keeps the promises that were made. */
  reload(trigger: Trigger): Outcome;
  readonly config: ConfigStatus;
  /** Takes no new connection, and waits until the exchanges under way are done, or `ms` have passed. */
  drain(ms: number): Promise<void>;
  /** Ends the listeners, and every connection with them. */
  close(): Promise<void>;
}

/** A snapshot in working order, with no listener of its own. */
export interface Assembly {
  readonly surroundings: Surroundings;
  readonly uses: ReadonlyMap<string, VersionUse>;
  /** Puts another snapshot in its place: what began with the old one ends with it. */
  apply(snapshot: Snapshot): void;
  close(): void;
}

export interface StartOptions {
  readonly clock?: Clock;
  /** Reads the file anew; without it there is nothing to reload. @throws ConfigError */
  readonly load?: () => Snapshot;
}

/** The only place that creates pools, pipeline and servers. */
export function assemble(snapshot: Snapshot, { clock = systemClock, embedded = false } = {}): Assembly {
  const registry = new Registry();
  const uses = new Map<string, VersionUse>();
  const start = bring(snapshot, registry.poolsFor(snapshot), uses);
  const surroundings: Surroundings = {
    live: start,
    now: () => clock.now(),
    pseudonym: newPseudonym(),
    draining: false,
    embedded,
    isDiscovery,
    discovery: createDiscovery(
      {
        get current() {
          return surroundings.live.snapshot;
        },
      },
      clock,
    ),
  };
  return {
    surroundings,
    uses,
    apply: (next) => {
      surroundings.live = bring(next, registry.poolsFor(next), uses);
    },
    close: () => registry.close(),
  };
}

/** @throws the listeners' own errors, such as EADDRINUSE. */
export async function startGateway(snapshot: Snapshot, options: StartOptions = {}): Promise<RunningGateway> {
  const { clock = systemClock, load = () => snapshot } = options;
  const assembly = assemble(snapshot, { clock });
  const { surroundings } = assembly;
  const front = createFrontDoor(snapshot.gateway, surroundings);
  const reloader = new Reloader(snapshot, {
    load,
    apply: (next) => {
      assembly.apply(next);
      adjustFrontDoor(front, next.gateway);
    },
    use: { lastServed: (name) => assembly.uses.get(name)?.lastServed },
    clock,
  });
  const admin = createServer(
    createAdmin(
      {
        get current() {
          return surroundings.live.snapshot;
        },
      },
      { ready: () => front.listening && !surroundings.draining },
      { reload: () => reloader.reload('admin'), config: () => reloader.status, uses: assembly.uses, clock },
    ),
  );
  await listenBoth(front, admin, snapshot);
  return {
    port: portOf(front),
    adminPort: portOf(admin),
    reload: (trigger) => reloader.reload(trigger),
    get config() {
      return reloader.status;
    },
    drain: async (ms) => {
      surroundings.draining = true;
      const ended = new Promise<void>((resolve) => front.close(() => resolve()));
      front.closeIdleConnections();
      await Promise.race([ended, setTimeout(ms, undefined, { ref: false })]);
    },
    close: async () => {
      assembly.close();
      await Promise.all([end(front), end(admin)]);
    },
  };
}

async function listenBoth(front: Server, admin: Server, { gateway }: Snapshot): Promise<void> {
  try {
    await listen(front, gateway.listen);
    await listen(admin, gateway.admin);
  } catch (error) {
    await end(front);
    throw error;
  }
}
