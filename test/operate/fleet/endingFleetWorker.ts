import { existsSync, writeFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import type { FleetWorkerData } from '../../../gateway/operate/fleet/workerMessages.ts';

// Replaces the fleet's thread in a test. The first thread of each ledger ends as soon as it has started.
const { ledger } = workerData as FleetWorkerData;
const isFirst = !existsSync(`${ledger.store}.ended`);
writeFileSync(`${ledger.store}.ended`, '');
await import('../../../gateway/operate/fleet/worker.ts');
if (isFirst) throw new Error('the test ends the thread');
