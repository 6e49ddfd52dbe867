import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { pinned } from '../../../bench/support/cores.ts';

/** What a load generator has seen; `wrong` holds the first few answers that were not as they should be. */
export interface Seen {
  readonly served: number;
  readonly seconds: number;
  readonly wrong: readonly string[];
  readonly generations: number;
}

/** Keeps connections to the gateway on `port` busy, in a process of its own, until the returned function is called. */
export function startLoad(port: number, connections: number): Promise<() => Promise<Seen>> {
  return startLoadProcess('loadProcess.ts', port, connections);
}

/** Runs a load generator of this folder until the returned function is called, which gives what it printed at its end. */
export async function startLoadProcess<Printed>(name: string, ...numbers: number[]): Promise<() => Promise<Printed>> {
  const file = fileURLToPath(new URL(name, import.meta.url));
  const { program, args } = pinned({ program: process.execPath, args: [file, ...numbers.map(String)] }, 'load');
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
    return JSON.parse(written.slice(written.indexOf('{'))) as Printed;
  };
}
