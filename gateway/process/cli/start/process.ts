import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { endProcess } from '../../../shared/endProcess.ts';
import type { ExitCode, Io } from '../io.ts';

/** The process ends at most this long after `gateway.drain`, in ms. */
const closeLimitMs = 4500;
/** How long connections and files may take to close after a second signal. */
const secondSignalLimitMs = 1000;
/** How long a slow reader of stdout or stderr may take to read the last lines. */
const lastLinesMs = 1000;

/**
 * Keeps V8's young generation at the size that it has now. Requests leave only short-lived garbage; a larger young
 * generation keeps that garbage in memory longer and causes more cache misses. The flag applies to the whole process, so
 * the program sets it and the library does not.
 */
export function keepYoungGenerationSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Resolves at the next SIGINT or SIGTERM. */
export async function stopSignal(): Promise<void> {
  const abort = new AbortController();
  await Promise.race(['SIGINT', 'SIGTERM'].map((name) => once(process, name, { signal: abort.signal })));
  abort.abort();
}

export interface Stoppable {
  /** Waits until the requests in flight have ended, or `ms` have passed. */
  drain(ms: number): Promise<void>;
  /** Closes every connection and file. */
  close(): Promise<void>;
}

/**
 * Drains and closes; a second signal skips the rest of the drain. The process ends in time even if a pipe is not read,
 * a name lookup gets no answer or a disk hangs.
 */
export async function shutDown(stoppable: Stoppable, drainMs: number, io: Io): Promise<ExitCode> {
  let code: ExitCode = 1;
  // This timer also keeps the event loop alive: Node exits with 13 when an await is pending and no handle is open.
  const deadline = setTimeout(() => {
    if (code !== 0) io.stderr.write('version-gateway did not stop in time: counts and log lines may be lost\n');
    endProcess(code);
  }, drainMs + closeLimitMs);
  const secondSignal = stopSignal().then(() => {
    setTimeout(() => endProcess(0), secondSignalLimitMs).unref();
  });
  io.stdout.write(`version-gateway is stopping: requests in flight have ${drainMs / 1000} s to finish\n`);
  await Promise.race([stoppable.drain(drainMs), secondSignal]);
  await stoppable.close();
  code = 0;
  deadline.unref();
  setTimeout(() => endProcess(0), lastLinesMs).unref();
  return code;
}
