import { gateway } from '../proxies/gateway.ts';
import { wrongAnswer } from '../support/answer.ts';
import { startJsonBackend } from '../support/backends.ts';
import { markdownTable } from '../support/figures.ts';
import { lineUp } from '../support/lineup.ts';
import { runLoad } from '../support/load.ts';
import { rssBytes } from '../support/proc.ts';
import { progress } from '../support/progress.ts';
import { connections, path } from '../support/work.ts';
import type { Scenario } from './scenario.ts';

/** The verdict is on the first two; the third tells a leak, which goes on, from a heap that has settled. */
const marks = [100_000, 1_000_000, 2_000_000];
const allowedGrowth = 0.2;

export const soakRss: Scenario = {
  name: 'soak-rss',
  title: 'Resident memory after 100,000 and after 1,000,000 requests',
  ordinary: false,
  async run() {
    const lineup = await lineUp([gateway], await startJsonBackend(), wrongAnswer);
    try {
      const [entrant] = lineup.entrants;
      if (!entrant) throw new Error(lineup.absent.map(({ reason }) => reason).join());
      const url = `http://127.0.0.1:${entrant.port}/v1${path}`;
      const rss: number[] = [];
      let requests = 0;
      for (const mark of marks) {
        while (requests < mark) requests += (await runLoad({ url, connections, seconds: 1 })).requests;
        rss.push(rssBytes(entrant.child.pid));
        progress(`${requests} requests: ${mebibytes(rss.at(-1))} resident`);
      }
      return verdict(rss);
    } finally {
      await lineup.stop();
    }
  },
};

function verdict(rss: readonly number[]): string {
  const [early = Number.NaN, late = Number.NaN] = rss;
  const growth = late / early - 1;
  const rows = marks.map((mark, index) => [mark.toLocaleString('en'), mebibytes(rss[index])]);
  const words = growth <= allowedGrowth ? 'within' : 'MORE THAN';
  return `${markdownTable(['requests', 'resident'], rows)}\n\nFrom the first to the second: ${(growth * 100).toFixed(1)} % growth, ${words} the ${allowedGrowth * 100} % allowed.`;
}

function mebibytes(bytes = Number.NaN): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
