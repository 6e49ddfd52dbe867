import { existsSync, writeFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import type { FleetWorkerData } from '../../gateway/fleet/workerMessages.ts';

// The thread of a fleet. The first one of a ledger ends as soon as it has started.
const { ledger } = workerData as FleetWorkerData;
const isFirst = !existsSync(`${ledger.store}.ended`);
writeFileSync(`${ledger.store}.ended`, '');
await import('../../gateway/fleet/worker.ts');
if (isFirst) throw new Error('the test ends it');
