import { existsSync, writeFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

// The thread of a fleet. The first one of a ledger ends as soon as it has started.
const { ledger } = workerData as { ledger: string };
const isFirst = !existsSync(`${ledger}.ended`);
writeFileSync(`${ledger}.ended`, '');
await import('../../gateway/fleet/worker.ts');
if (isFirst) throw new Error('the test ends it');
