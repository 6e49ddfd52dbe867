import { existsSync, writeFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { FleetCommand, FleetWorkerData } from '../../../gateway/operate/fleet/workerMessages.ts';

// Replaces the fleet's thread in a test. The first thread of each ledger ends when it gets new settings.
const { ledger } = workerData as FleetWorkerData;
const isFirst = !existsSync(`${ledger.store}.ended`);
writeFileSync(`${ledger.store}.ended`, '');
await import('../../../gateway/operate/fleet/worker.ts');
parentPort?.on('message', ({ kind }: FleetCommand) => {
  if (kind === 'configure' && isFirst) throw new Error('the test ends the thread');
});
