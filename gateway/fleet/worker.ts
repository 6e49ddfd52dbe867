import { parentPort, workerData } from 'node:worker_threads';
import { Heartbeats } from './heartbeats.ts';
import { maintainStore } from './maintenance.ts';
import { Postgres } from './postgres.ts';
import { StoreConnection } from './storeConnection.ts';
import type { FleetCommand, FleetReport, FleetWorkerData } from './workerMessages.ts';

// The entry point of the thread that talks to the shared store. The store may be slow or away; here it delays no request.

const maintenanceMs = 3_600_000;
// The first maintenance waits until a restart of all gateways is over.
const firstMaintenanceMs = 60_000;

const { settings, ledger, salt } = workerData as FleetWorkerData;
const store = new StoreConnection(settings, {
  salt: () => salt,
  onSalt: (salt) => post({ kind: 'salt', salt }),
  onChange: (problem) => post({ kind: 'store', problem }),
});
const heartbeats = new Heartbeats(store, settings, post);
// Asks whether the store answers.
const beat = setInterval(() => void store.query('SELECT 1').catch(() => {}), settings.heartbeat);
// A maintenance that fails is repeated after an hour. The connection reports that the store is away.
const maintain = (): void => void maintainStore(store, Date.now(), ledger).catch(() => {});
const maintenance = [setTimeout(maintain, firstMaintenanceMs), setInterval(maintain, maintenanceMs)];

parentPort?.on('message', (command: FleetCommand) => {
  if (command.kind === 'stop') void stop();
  else heartbeats.onCommand(command);
});

try {
  // Fails only if the gateway cannot use any store: `pg` is missing, or the password cannot be read.
  await (await Postgres.open(settings)).close();
  post({ kind: 'started' });
} catch (error) {
  post({ kind: 'unusable', reason: error instanceof Error ? error.message : String(error) });
  await stop();
}

async function stop(): Promise<void> {
  clearInterval(beat);
  for (const timer of maintenance) clearTimeout(timer);
  await heartbeats.end(true).catch(() => {});
  await store.close();
  parentPort?.close();
}

function post(message: FleetReport): void {
  parentPort?.postMessage(message);
}
