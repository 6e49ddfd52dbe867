import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';

/**
 * Ends this process when the returned function is not called for 20 s: a synchronous loop without end is beyond the
 * reach of the time-outs of the test runner. `what` is said then, with the last number that was given.
 */
export function watchdog(what: string): (number: number) => void {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const code = `
    const { workerData: { beats, what } } = require('node:worker_threads');
    let last = -1;
    setInterval(() => {
      const now = Atomics.load(beats, 0);
      if (now === last) {
        require('node:fs').writeSync(2, what + ' hangs at number ' + now + '\\n');
        process.kill(process.pid, 'SIGKILL');
      }
      last = now;
    }, 20_000);`;
  const worker = new Worker(code, { eval: true, workerData: { beats, what } });
  onTestFinished(() => void worker.terminate());
  return (number) => void Atomics.store(beats, 0, number);
}
