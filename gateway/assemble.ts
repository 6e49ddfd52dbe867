import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { createAdmin } from './admin/app.ts';
import type { HostPort, Snapshot } from './config/snapshot.ts';
import { createDiscovery } from './discovery/app.ts';
import { isDiscovery } from './discovery/paths.ts';
import { createFrontDoor } from './pipeline/frontDoor.ts';
import { bring, type Live, newPseudonym, type Surroundings } from './pipeline/live.ts';
import { type Clock, systemClock } from './shared/clock.ts';
import { Registry } from './upstream/registry.ts';

export interface RunningGateway {
  /** What the listeners are bound to: another port than the file's where that is 0. */
  readonly port: number;
  readonly adminPort: number;
  /** Takes no new connection, and waits until the exchanges under way are done, or `ms` have passed. */
  drain(ms: number): Promise<void>;
  /** Ends the listeners, and every connection with them. */
  close(): Promise<void>;
}

/** A snapshot in working order, with no listener of its own. */
export interface Assembly {
  readonly surroundings: Surroundings;
  close(): void;
}

/** The only place that creates pools, pipeline and servers. */
export function assemble(snapshot: Snapshot, { clock = systemClock, embedded = false } = {}): Assembly {
  const registry = new Registry();
  const live: Live = bring(snapshot, registry.poolsFor(snapshot));
  const current = { current: snapshot };
  const surroundings: Surroundings = {
    live,
    now: () => clock.now(),
    pseudonym: newPseudonym(),
    draining: false,
    embedded,
    isDiscovery,
    discovery: createDiscovery(current, clock),
  };
  return { surroundings, close: () => registry.close() };
}

/** @throws the listeners' own errors, such as EADDRINUSE. */
export async function startGateway(
  snapshot: Snapshot,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<RunningGateway> {
  const assembly = assemble(snapshot, { clock });
  const { gateway } = snapshot;
  const front = createFrontDoor(gateway, assembly.surroundings);
  const admin = createServer(createAdmin({ current: snapshot }, { ready: () => front.listening }));
  try {
    await listen(front, gateway.listen);
    await listen(admin, gateway.admin);
  } catch (error) {
    await end(front);
    throw error;
  }
  return {
    port: portOf(front),
    adminPort: portOf(admin),
    drain: async (ms) => {
      assembly.surroundings.draining = true;
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

function listen(server: Server, { host, port }: HostPort): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function end(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
