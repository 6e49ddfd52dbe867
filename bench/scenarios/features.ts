import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startJsonBackend } from '../support/backends.ts';
import { startServer, temporaryFolder } from '../support/children.ts';
import { markdownTable, withRatio } from '../support/figures.ts';
import { runLoad } from '../support/load.ts';
import { freePort } from '../support/ports.ts';
import { connections, path } from '../support/work.ts';
import type { Scenario } from './scenario.ts';

const probe = fileURLToPath(new URL('../probes/observed.ts', import.meta.url));

/** What all of it together may cost, as a share of a request without it. */
const aim = 0.15;

interface Figure {
  readonly by: string;
  readonly cpuMicros: number;
  readonly requests: number;
}

export const features: Scenario = {
  name: 'features',
  title: 'What watching costs: one gateway whose requests are recorded by others every moment',
  ordinary: false,
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
      await sleep(1500);
      const figures = table(JSON.parse(readFileSync(join(folder, 'observed.json'), 'utf8')) as Figure[]);
      return errors > 0 ? `${figures}\n\n${errors} ERRORS: no good figures.` : figures;
    } finally {
      await server.stop();
    }
  },
};

function table(figures: readonly Figure[]): string {
  const costs = figures.map(({ cpuMicros, requests }) => cpuMicros / requests);
  const [least = Number.NaN] = costs;
  const rows = figures.map(({ by, requests }, index) => {
    const cost = costs[index] ?? Number.NaN;
    const more = index === 0 ? '' : `${((cost / least - 1) * 100).toFixed(1)} %`;
    return [`watched by ${by}`, withRatio(cost, least, 1), more, requests.toLocaleString('en')];
  });
  return markdownTable(['gateway', 'CPU µs/request', `CPU more (aim ≤ ${aim * 100} %)`, 'requests'], rows);
}
