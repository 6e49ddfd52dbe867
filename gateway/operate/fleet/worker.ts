import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../shared/text.ts';
import type { OutboxState } from '../../usage/ledger/outbox.ts';
import { Heartbeats } from './heartbeats.ts';
import { maintainStore } from './maintenance.ts';
import { Postgres } from './postgres.ts';
import { QueuedBatchAdder } from './queuedBatches.ts';
import { Shipper } from './shipper.ts';
import { StoreConnection } from './storeConnection.ts';
import type { FleetCommand, FleetReport, FleetWorkerData } from './workerMessages.ts';

// The entry point of the thread that talks to the shared store. A store that is slow or unreachable delays only this thread.

const maintenanceIntervalMs = 3_600_000;
// The first maintenance waits until a restart of all gateways is over.
const firstMaintenanceDelayMs = 60_000;
// A database on a busy machine may take this long to create the tables.
const leastTimeoutMs = 5_000;
// The time limit of one statement. In a large fleet, it takes minutes to move the clients above the limit to `other clients`.
const maintenanceStatementTimeoutMs = 600_000;

const { settings, ledger: ledgerAtStart, salt } = workerData as FleetWorkerData;
let ledger = ledgerAtStart;
let ownSalt = salt;
const store = new StoreConnection(
  settings,
  {
    salt: () => ownSalt,
    identify: () => ledger.identify,
    isSaltFromTagKey: ledger.tagKey !== undefined,
    onSalt: (fleetSalt, isReplaced) => {
      ownSalt = fleetSalt;
      post({ kind: 'salt', salt: fleetSalt, isReplaced });
    },
    onChange: (problem) => post({ kind: 'store', problem }),
  },
  // A store that hangs, or whose connection was cut without a reset, counts as lost after this time.
  { queryTimeoutMs: Math.max(settings.silentAfter, leastTimeoutMs) },
);
const queue = new QueuedBatchAdder(settings, store, (problem) => post({ kind: 'queueAdded', problem }));
const shipper = new Shipper(store, ledger.store, {
  onSent: ({ epoch, seq }, outcome) => {
    heartbeats.onSent({ epoch, seq });
    post({ kind: 'sent', epoch, seq, outcome });
  },
  onRefused: (reason) => post({ kind: 'refused', reason }),
  queue,
});
const heartbeats = new Heartbeats(store, settings, post, (run) => shipper.onRegistered(run));

async function maintain(): Promise<void> {
  try {
    const postgres = await Postgres.open(settings, { connections: 1, queryTimeoutMs: maintenanceStatementTimeoutMs });
    const isDone = await maintainStore(postgres, Date.now(), ledger).finally(() => postgres.close());
    // Not done: another gateway maintains the store, or a query reads a table. The next maintenance tries again.
    if (isDone) post({ kind: 'maintained', problem: undefined });
  } catch (error) {
    post({ kind: 'maintained', problem: messageOf(error) });
  }
}
const maintenanceTimers = [
  setTimeout(() => void maintain(), firstMaintenanceDelayMs),
  setInterval(() => void maintain(), maintenanceIntervalMs),
];

let outbox: OutboxState | undefined;
parentPort?.on('message', (command: FleetCommand) => {
  if (command.kind === 'outbox') {
    outbox = command.outbox;
    shipper.onOutbox(outbox?.oldest);
  } else if (command.kind === 'configure') {
    ledger = command.ledger;
    // If the store does not answer, the rules are stored at the next connect.
    store.noteNamingRules().catch(() => {});
  } else if (command.kind === 'stop') void stop(command);
  else heartbeats.onCommand(command);
});

try {
  // Fails only if the gateway cannot use any store: `pg` is missing, or the password cannot be read.
  await (await Postgres.open(settings)).close();
  post({ kind: 'started' });
  void shipper.run();
  // Connects at once. `onChange` reports whether that has failed.
  await store.query('SELECT 1').catch(() => {});
} catch (error) {
  post({ kind: 'unusable', reason: messageOf(error) });
  // If the gateway already serves clients, its main thread then starts another thread like this.
  await stop({ ms: 0, unwrittenRows: 0 });
}

/** Sends the counts that wait, for `ms` at most. `unwrittenRows`: rows that the ledger could not write. */
async function stop({ ms, unwrittenRows }: Omit<Extract<FleetCommand, { kind: 'stop' }>, 'kind'>): Promise<void> {
  const isShipped = await shipper.drain(ms);
  shipper.stop();
  queue.stop();
  for (const timer of maintenanceTimers) clearTimeout(timer);
  const rows = unwrittenRows + (isShipped ? 0 : (outbox?.rows ?? 0));
  await heartbeats.end({ rows, since: outbox?.since }).catch(() => {});
  await store.close();
  parentPort?.close();
}

function post(message: FleetReport): void {
  parentPort?.postMessage(message);
}
