import { fileURLToPath } from 'node:url';
import { runToEnd } from './children.ts';
import { cpuSeconds } from './proc.ts';
import { programVersion } from './versions.ts';

export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** The bytes in the body of each POST. With 0, the default, GET requests are sent. */
  readonly bodyBytes?: number;
  /** Only with wrk: so many clients call so many routes below the URL. */
  readonly mix?: { readonly clients: number; readonly routes: number };
  /** Only with wrk: the requests per second. Default: as many as possible. */
  readonly rate?: number;
}

/** `p50` and `p99` are latencies in ms; `bytes` are received bytes. */
export interface LoadReport {
  readonly requests: number;
  readonly seconds: number;
  readonly bytes: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
}

const wrk = programVersion('wrk', ['-v']);
export const generator = wrk ? `wrk ${wrk}` : 'bench/support/loadClient.ts';

/** Sends requests on every connection for `seconds`, one at a time. */
export async function runLoad({ url, connections, seconds, bodyBytes = 0, mix, rate = 0 }: Load): Promise<LoadReport> {
  const env = {
    BODY_BYTES: String(bodyBytes),
    RATE: String(rate),
    ...(mix && { CLIENTS: String(mix.clients), ROUTES: String(mix.routes) }),
  };
  const command = wrk
    ? {
        program: 'wrk',
        args: ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', file('wrk.lua'), '--latency', url],
        env,
      }
    : { program: process.execPath, args: [file('loadClient.ts'), url, String(connections), String(seconds)], env };
  const written = await runToEnd(command, 'load');
  const report: LoadReport = JSON.parse(written.slice(written.lastIndexOf('\n{')));
  return report;
}

/** Runs the load and measures the CPU time that the process tree of `pid` uses meanwhile. */
export async function runMeasured(pid: number, load: Load): Promise<LoadReport & { cpuSeconds: number }> {
  const before = cpuSeconds(pid);
  const report = await runLoad(load);
  return { ...report, cpuSeconds: cpuSeconds(pid) - before };
}

function file(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
