import type { Options } from '../options.ts';
import type { Contender } from '../proxies/contender.ts';
import { gatewayCommand } from '../proxies/gateway.ts';
import { status } from '../support/answer.ts';
import { startJsonBackend } from '../support/backends.ts';
import { comparePerRequest } from '../support/compare.ts';
import { lineUp } from '../support/lineup.ts';
import { dates, path } from '../support/work.ts';
import type { Scenario } from './scenario.ts';

/** The only one that is not deprecated, so the last link of every chain of successors. */
const newest = 'v5000';

export const routes: Scenario = {
  name: 'routes',
  title: 'What more routes cost',
  ordinary: true,
  async run(options) {
    const backendPort = await startJsonBackend();
    // Finding a route, and saying where an old one leads, are different work.
    const found = await compare([1, 10, 1000], `/${newest}${path}`, backendPort, options);
    const announced = await compare([2, 10, 1000], `/v1${path}`, backendPort, options);
    return `The newest, which announces nothing:\n\n${found}\n\nThe oldest, with a link to its successor, and to the newest:\n\n${announced}`;
  },
};

async function compare(
  counts: readonly number[],
  target: string,
  backendPort: number,
  options: Options,
): Promise<string> {
  const lineup = await lineUp(counts.map(withRoutes), backendPort, async (port) => {
    const received = await status(port, target);
    return received === 200 ? undefined : `status: ${received}`;
  });
  try {
    return await comparePerRequest(lineup, target, options);
  } finally {
    await lineup.stop();
  }
}

function withRoutes(count: number): Contender {
  return {
    name: `${count.toLocaleString('en')} ${count === 1 ? 'route' : 'routes'}`,
    version: '',
    required: true,
    command({ port, backendPort, folder }) {
      const upstream = `http://127.0.0.1:${backendPort}`;
      const old = Array.from({ length: count - 1 }, (_, index) => {
        return `  /v${index + 1}: { upstream: '${upstream}', deprecation: ${dates.deprecation} }`;
      });
      return gatewayCommand({ port, folder, routes: ['routes:', ...old, `  /${newest}: ${upstream}`, ''].join('\n') });
    },
  };
}
