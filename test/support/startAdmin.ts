import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createAdmin } from '../../gateway/admin/app.ts';
import type { FleetOperations, Operations } from '../../gateway/admin/operations.ts';
import { formatFault } from '../../gateway/config/fault.ts';
import { parseConfig, snapshotFrom } from '../../gateway/config/load.ts';
import type { UsageQueries } from '../../gateway/usage/usageQueries.ts';
import { directLedgerClient } from './directLedgerClient.ts';

/** Starts an admin listener for these routes and this ledger. Returns its host:port. */
export async function startAdmin(
  routes: Readonly<Record<string, unknown>>,
  usage: UsageQueries | undefined,
  now: number,
  retire: object = {},
  fleet?: FleetOperations,
  guard: object = {},
): Promise<string> {
  const current = snapshotFrom({ routes, retire, guard });
  const unavailable = (): never => {
    throw new Error('not available in this test');
  };
  const config = {
    fingerprint: 'f',
    generation: 1,
    loadedAt: now,
    trigger: 'start' as const,
    forced: [],
    lastFailure: undefined,
  };
  const operations: Operations = {
    reload: unavailable,
    preview: unavailable,
    snapshotOf: async (text = '') => {
      const { snapshot, faults } = parseConfig(text, 'routes.yaml', { clock: { now: () => now } });
      return snapshot ?? faults.map(formatFault);
    },
    config: () => config,
    report: async () => ({ versions: [], workers: [] }),
    clock: { now: () => now },
    usage: usage && directLedgerClient(usage),
    fleet,
  };
  const server = createServer(createAdmin({ current }, { ready: () => true }, operations)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
