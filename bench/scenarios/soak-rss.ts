import { gateway } from '../proxies/gateway.ts';
import type { Table } from '../report/results.ts';
import { startJsonBackend } from '../support/backends.ts';
import { runLoad } from '../support/load.ts';
import { rssBytes } from '../support/proc.ts';
import { progress } from '../support/progress.ts';
import { checkResponse } from '../support/response.ts';
import { startProxies } from '../support/runningProxies.ts';
import { connections, path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

/**
 * Memory is read after these numbers of requests. The result compares the first two. The third shows whether memory still grows, as
 * with a leak.
 */
const requestCounts = [100_000, 1_000_000, 2_000_000];
const allowedGrowth = 0.2;

export const soakRss: Scenario = {
  name: 'soak-rss',
  title: 'Does memory grow with the number of requests?',
  runs: 'only if named',
  async run() {
    const started = await startProxies([gateway], await startJsonBackend(), checkResponse);
    try {
      const [proxy] = started.running;
      if (!proxy) throw new Error(started.notes.join());
      const url = `http://127.0.0.1:${proxy.port}/v1${path}`;
      const rss: number[] = [];
      let requests = 0;
      for (const count of requestCounts) {
        while (requests < count) requests += (await runLoad({ url, connections, seconds: 1 })).requests;
        rss.push(rssBytes(proxy.child.pid));
        progress(`${requests} requests: ${mebibytes(rss.at(-1))} resident`);
      }
      return { text: growthText(rss), tables: [table(rss)], notes: [] };
    } finally {
      await started.stop();
    }
  },
};

function growthText(rss: readonly number[]): string {
  const [early = Number.NaN, late = Number.NaN] = rss;
  const growth = late / early - 1;
  const comparison = growth <= allowedGrowth ? 'within' : 'MORE THAN';
  return `Memory grows by ${(growth * 100).toFixed(1)} % from the first to the second row, ${comparison} the allowed ${allowedGrowth * 100} %.`;
}

function table(rss: readonly number[]): Table {
  const rows = requestCounts.map((count, index) => {
    const samples = [(rss[index] ?? Number.NaN) / 2 ** 20];
    return { name: `after ${count.toLocaleString('en')} requests`, samples };
  });
  return { figure: 'resident memory, MiB', digits: 1, baseline: rows[0]?.name ?? '', rows, goals: [] };
}

function mebibytes(bytes = Number.NaN): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
