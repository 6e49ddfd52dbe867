import { endProcess } from '../shared/endProcess.ts';
import type { ExitCode, Io } from './io.ts';
import { stopSignal } from './stopSignal.ts';

/** The process ends at the latest this long after `gateway.drain`, in ms. */
const mostAfterDrainMs = 4500;
/** How long connections and files may take to close after a second signal. */
const mostAfterSecondSignalMs = 1000;
/** How long the last lines may take to reach a slow reader of stdout and stderr. */
const lastLinesMs = 1000;

export interface Stopping {
  /** Waits until the requests in flight are done, or `ms` have passed. */
  drain(ms: number): Promise<void>;
  /** Closes every connection and file. */
  close(): Promise<void>;
}

/**
 * Drains and closes; a second signal skips the rest of the drain. The process ends in time whatever keeps it: a pipe
 * that nobody reads, a name lookup without an answer, a disk that hangs.
 */
export async function shutDown(stopping: Stopping, drainMs: number, io: Io): Promise<ExitCode> {
  let code: ExitCode = 1;
  // This timer also keeps the event loop alive: without one, Node ends with 13 while something here is awaited.
  const overdue = setTimeout(() => {
    if (code !== 0) io.stderr.write('version-gateway did not stop in time: counts and log lines may be lost\n');
    endProcess(code);
  }, drainMs + mostAfterDrainMs);
  const second = stopSignal().then(() => {
    setTimeout(() => endProcess(0), mostAfterSecondSignalMs).unref();
  });
  io.stdout.write(`version-gateway stops: requests in flight have ${drainMs / 1000} s to finish\n`);
  await Promise.race([stopping.drain(drainMs), second]);
  await stopping.close();
  code = 0;
  overdue.unref();
  setTimeout(() => endProcess(0), lastLinesMs).unref();
  return code;
}
