import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Options } from '../options.ts';
import type { VariantFigure } from './alternation.ts';
import { startJsonBackend } from './backends.ts';
import { startServer, temporaryFolder } from './children.ts';
import { type Load, runLoad } from './load.ts';
import { freePort } from './ports.ts';
import { connections, path } from './workload.ts';

// Most probes have about this many variants. Each variant is measured for about as long as a proxy in other scenarios.
const usualVariants = 4;

interface VariantSettings extends Pick<Load, 'mix'> {
  readonly args?: readonly string[];
  readonly startBackend?: () => Promise<number>;
}

/**
 * Starts a program of bench/probes, which serves with one variant after the other, and sends requests to it. The program gets
 * `args` after PORT, BACKEND_PORT and FOLDER. `mix`: the requests have different clients and routes.
 */
export async function measureVariants(
  probe: string,
  { quick, rounds, seconds }: Options,
  { args = [], startBackend = startJsonBackend, ...loadSettings }: VariantSettings = {},
): Promise<{ readonly figures: readonly VariantFigure[]; readonly notes: readonly string[] }> {
  const [port, backendPort, folder] = [await freePort(), await startBackend(), temporaryFolder()];
  const file = fileURLToPath(new URL(`../probes/${probe}`, import.meta.url));
  const probeArgs = [file, String(port), String(backendPort), folder, ...args];
  const server = await startServer({ program: process.execPath, args: probeArgs }, port, 'onProxyCore');
  const load = (loadSeconds: number) =>
    runLoad({ url: `http://127.0.0.1:${port}/v1${path}`, connections, seconds: loadSeconds, ...loadSettings });
  try {
    await load(quick ? 2 : 5); // compilers warm up
    // The probe sets its figures to zero.
    process.kill(server.pid, 'SIGUSR2');
    const { errors } = await load(rounds * seconds * usualVariants);
    const notes = errors > 0 ? [`${errors} requests FAILED: the figures are not valid.`] : [];
    return { figures: await figuresAfter(Date.now(), join(folder, 'figures.json')), notes };
  } finally {
    await server.stop();
  }
}

/** Waits until the file contains the requests before `time`. The probe adds requests within 0.6 s, and writes the file once a second. */
async function figuresAfter(time: number, file: string): Promise<VariantFigure[]> {
  while (statSync(file).mtimeMs < time + 600) await sleep(50);
  return JSON.parse(readFileSync(file, 'utf8')) as VariantFigure[];
}
