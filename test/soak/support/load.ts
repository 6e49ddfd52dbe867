import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { pinned } from '../../../bench/support/cores.ts';

/** The report of a load generator. `wrong` contains the first wrong responses. */
export interface LoadReport {
  readonly served: number;
  readonly seconds: number;
  readonly wrong: readonly string[];
  readonly generations: number;
}

/** Sends requests to the gateway on `port` from another process. The returned function stops it. */
export function startLoad(port: number, connections: number): Promise<() => Promise<LoadReport>> {
  return startLoadProcess('loadProcess.ts', port, connections);
}

/** Starts a load generator of this folder. The returned function stops it and returns its report. */
export async function startLoadProcess<Report>(name: string, ...numbers: number[]): Promise<() => Promise<Report>> {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const { program, args } = pinned(
    { program: process.execPath, args: [file, ...numbers.map(String)] },
    'onGeneratorCores',
  );
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let written = '';
  child.stdout.on('data', (chunk) => {
    written += chunk;
  });
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.end();
    await once(child, 'close');
    return JSON.parse(written.slice(written.indexOf('{'))) as Report;
  };
}
