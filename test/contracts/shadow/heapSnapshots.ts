import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { getHeapSnapshot } from 'node:v8';
import { isMainThread, type Worker } from 'node:worker_threads';

// Imported before a gateway. On SIGWINCH it writes a heap snapshot of the process and of each thread to the folder HEAP_FOLDER.

if (isMainThread) {
  const workers = new Set<Worker>();
  process.on('worker', (worker) => {
    workers.add(worker);
    worker.on('exit', () => workers.delete(worker));
  });
  process.on('SIGWINCH', () => void writeAll([...workers]));
}

async function writeAll(workers: readonly Worker[]): Promise<void> {
  const folder = process.env['HEAP_FOLDER'];
  await pipeline(getHeapSnapshot(), createWriteStream(`${folder}/main.heapsnapshot`));
  for (const worker of workers)
    await pipeline(
      await worker.getHeapSnapshot(),
      createWriteStream(`${folder}/thread-${worker.threadId}.heapsnapshot`),
    );
  process.stdout.write(`wrote ${workers.length + 1} heap snapshots\n`);
}
