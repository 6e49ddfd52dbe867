import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gateway } from '../proxies/gateway.ts';
import { startJsonBackend } from '../support/backends.ts';
import { startServer, temporaryFolder } from '../support/children.ts';
import { median } from '../support/figures.ts';
import { runLoad } from '../support/load.ts';
import { freePort } from '../support/ports.ts';
import { measureRounds } from '../support/rounds.ts';
import { connections, path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

// Dead objects that reached the old generation can make every later scavenge slow. Whether that happens is decided soon
// after a start, so one start proves nothing.
const minStarts = 5;
const minSeconds = 5;

export const scavenges: Scenario = {
  name: 'scavenges',
  title: 'How much time does garbage collection take?',
  runs: 'unless quick',
  async run({ rounds, seconds, quick }) {
    const backendPort = await startJsonBackend();
    const starts = Math.max(minStarts, rounds);
    const samples = await measureRounds([gateway], starts, async () => {
      // `--scenarios` can name this scenario together with `--quick`.
      const warmUpSeconds = quick ? 1 : 3;
      const { scavengesMs, requests } = await measure(backendPort, warmUpSeconds, Math.max(minSeconds, seconds));
      return { micros: (scavengesMs.reduce((sum, ms) => sum + ms, 0) * 1000) / requests, median: median(scavengesMs) };
    });
    return {
      text: `The time of minor garbage collections in the workload of *What does a small request cost?*. One sample per start of the gateway, ${starts} starts, because the time can differ between starts.`,
      tables: [
        { figure: 'scavenge time per request, µs', digits: 2, rows: samples.rows('micros'), goals: [] },
        { figure: 'median time of a scavenge, ms', digits: 2, rows: samples.rows('median'), goals: [] },
      ],
      notes: samples.notes,
    };
  },
};

/** Starts a gateway in a process of its own, and returns the duration of each scavenge under load, in ms, and the number of requests. */
async function measure(backendPort: number, warmUpSeconds: number, seconds: number) {
  const [port, folder] = [await freePort(), temporaryFolder()];
  const { program, args } = gateway.command({ port, backendPort, folder });
  const output = join(folder, 'stdout');
  const server = await startServer({ program, args: ['--trace-gc', ...args], output }, port, 'onProxyCore');
  const load = (loadSeconds: number) =>
    runLoad({ url: `http://127.0.0.1:${port}/v1${path}`, connections, seconds: loadSeconds });
  try {
    await load(warmUpSeconds);
    const countBefore = scavengesIn(output).length;
    const { requests, errors } = await load(seconds);
    if (errors > 0) throw new Error(`${errors} of ${requests} requests failed`);
    return { scavengesMs: scavengesIn(output).slice(countBefore), requests };
  } finally {
    await server.stop();
  }
}

/**
 * The duration of each scavenge in the output of --trace-gc, in ms. Here it is 0.42:
 * `[1:0x2] 37 ms: Scavenge 12.3 (15.2) -> 11.0 (17.2) MB, pooled: 0 MB, 0.42 / 0.00 ms …`
 */
function scavengesIn(file: string): number[] {
  const lines = readFileSync(file, 'utf8').matchAll(/: Scavenge .*? MB, (?:pooled: .*? MB, )?([0-9.]+) \/ /g);
  return [...lines].map(([, ms]) => Number(ms));
}
