import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';

/**
 * Kills this process if the returned function is not called for 20 s: the time-outs of the test runner cannot interrupt a
 * synchronous endless loop. Prints `what` and the last number first.
 */
export function watchdog(what: string): (number: number) => void {
  const shared = new Int32Array(new SharedArrayBuffer(4));
  const code = `
    const { workerData: { shared, what } } = require('node:worker_threads');
    let last = -1;
    setInterval(() => {
      const now = Atomics.load(shared, 0);
      if (now === last) {
        require('node:fs').writeSync(2, what + ' hangs at number ' + now + '\\n');
        process.kill(process.pid, 'SIGKILL');
      }
      last = now;
    }, 20_000);`;
  const worker = new Worker(code, { eval: true, workerData: { shared, what } });
  onTestFinished(() => void worker.terminate());
  return (number) => void Atomics.store(shared, 0, number);
}
