import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';

// The thread that writes the ledger. Files next to the ledger make it hang or end.
const folder = dirname((workerData as { settings: { store: string } }).settings.store);
const is = (what: string): boolean => existsSync(join(folder, what));
if (!parentPort) throw new Error('this is for a thread');

parentPort.on('message', ({ kind }: { kind: string }) => {
  if (kind !== 'write') return;
  // A thread that opens a named pipe waits for the other end and cannot be interrupted.
  if (is('hangs')) readFileSync(join(folder, 'hangs'));
  if (is('dies before it writes')) process.exit(7);
});
const report = parentPort.postMessage.bind(parentPort);
parentPort.postMessage = (message: { kind: string; number: number }) => {
  if (message.kind === 'state' && message.number > 0 && is('dies after it wrote')) process.exit(7);
  report(message);
};
await import('../../../gateway/usage/ledger/worker.ts');
