import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { formatFault } from '../../gateway/config/fault.ts';
import { parseConfig, snapshotFrom } from '../../gateway/config/load.ts';
import type { Snapshot } from '../../gateway/config/snapshot.ts';
import { createAdmin } from '../../gateway/operate/admin/app.ts';
import type { FleetOperations } from '../../gateway/operate/admin/operations.ts';
import type { UsageQueries } from '../../gateway/usage/usageQueries.ts';
import { directLedgerClient } from './directLedgerClient.ts';
import { idleOperations } from './idleOperations.ts';

/** Starts an admin listener for these routes and this ledger. Returns its host:port. */
export async function startAdmin(
  routes: Readonly<Record<string, unknown>>,
  usage: UsageQueries | undefined,
  now: number,
  retire: object = {},
  fleet?: FleetOperations,
  guard: object = {},
): Promise<string> {
  return startAdminOf(snapshotFrom({ routes, retire, guard }), usage, now, fleet);
}

/** Starts an admin listener for this configuration and this ledger. Returns its host:port. */
export async function startAdminOf(
  current: Snapshot,
  usage: UsageQueries | undefined,
  now: number,
  fleet?: FleetOperations,
): Promise<string> {
  const operations = idleOperations({
    configuration: {
      snapshotOf: async (text = '') => {
        const { snapshot, faults } = parseConfig(text, 'routes.yaml', { clock: { now: () => now } });
        return snapshot ?? faults.map(formatFault);
      },
    },
    live: { ledger: usage && directLedgerClient(usage), fleet },
    clock: { now: () => now },
  });
  const server = createServer(createAdmin({ current }, { ready: () => true }, operations)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
