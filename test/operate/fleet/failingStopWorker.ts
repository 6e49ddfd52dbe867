import { parentPort } from 'node:worker_threads';
import type { FleetCommand } from '../../../gateway/operate/fleet/workerMessages.ts';

// Replaces the fleet's thread in a test. The thread ends with an error when it is told to stop.
await import('../../../gateway/operate/fleet/worker.ts');
parentPort?.on('message', ({ kind }: FleetCommand) => {
  if (kind === 'stop') throw new Error('the test ends the thread');
});
