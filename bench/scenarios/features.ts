import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startJsonBackend } from '../support/backends.ts';
import { startServer, temporaryFolder } from '../support/children.ts';
import { markdownTable, withRatio } from '../support/figures.ts';
import { runLoad } from '../support/load.ts';
import { freePort } from '../support/ports.ts';
import { connections, path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

const probe = fileURLToPath(new URL('../probes/recordingVariants.ts', import.meta.url));

/** The most CPU time that all of them together may add, as a share of that of a request without them. */
const targetShare = 0.15;

interface Figure {
  readonly records: string;
  readonly cpuMicros: number;
  readonly requests: number;
}

export const features: Scenario = {
  name: 'features',
  title: 'Cost of metrics, ledger and access log: one gateway that changes every 0.6 s what it records',
  isDefault: false,
  async run({ quick, rounds, seconds }) {
    const [port, backend, folder] = [await freePort(), await startJsonBackend(), temporaryFolder()];
    const args = [probe, String(port), String(backend), folder];
    const server = await startServer({ program: process.execPath, args }, port, 'proxy');
    const load = (length: number) =>
      runLoad({ url: `http://127.0.0.1:${port}/v1${path}`, connections, seconds: length });
    try {
      await load(quick ? 2 : 5); // compilers warm up
      process.kill(server.pid, 'SIGUSR2');
      const { errors } = await load(rounds * seconds * 4);
      const figures = table(await figuresAfter(Date.now(), join(folder, 'figures.json')));
      return errors > 0 ? `${figures}\n\n${errors} ERRORS: the figures are not valid.` : figures;
    } finally {
      await server.stop();
    }
  },
};

/** Reads the file once it contains the requests until `time`: the probe adds them within 0.6 s and writes once a second. */
async function figuresAfter(time: number, file: string): Promise<Figure[]> {
  while (statSync(file).mtimeMs < time + 600) await sleep(50);
  return JSON.parse(readFileSync(file, 'utf8')) as Figure[];
}

function table(figures: readonly Figure[]): string {
  const costs = figures.map(({ cpuMicros, requests }) => cpuMicros / requests);
  const [least = Number.NaN] = costs;
  const rows = figures.map(({ records, requests }, index) => {
    const cost = costs[index] ?? Number.NaN;
    const more = index === 0 ? '' : `${((cost / least - 1) * 100).toFixed(1)} %`;
    return [`records ${records}`, withRatio(cost, least, 1), more, requests.toLocaleString('en')];
  });
  return markdownTable(['gateway', 'CPU µs/request', `more CPU (target ≤ ${targetShare * 100} %)`, 'requests'], rows);
}
