import type { Options } from '../options.ts';
import type { ProxyDefinition } from '../proxies/definition.ts';
import { gatewayCommand } from '../proxies/gateway.ts';
import { startJsonBackend } from '../support/backends.ts';
import { comparePerRequest } from '../support/compare.ts';
import { status } from '../support/response.ts';
import { startProxies } from '../support/runningProxies.ts';
import { dates, path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

/** The only version that is not deprecated: the last successor of all others. */
const newest = 'v5000';

export const routes: Scenario = {
  name: 'routes',
  title: 'Cost of more routes',
  isDefault: true,
  async run(options) {
    const backendPort = await startJsonBackend();
    // Measured separately: the cost of finding a route, and the cost of announcing its successor.
    const newestTable = await compare([1, 10, 1000], `/${newest}${path}`, backendPort, options);
    const oldestTable = await compare([2, 10, 1000], `/v1${path}`, backendPort, options);
    return `Requests to the newest version, which announces nothing:\n\n${newestTable}\n\nRequests to the oldest version, which announces its successor and the newest version:\n\n${oldestTable}`;
  },
};

async function compare(
  counts: readonly number[],
  target: string,
  backendPort: number,
  options: Options,
): Promise<string> {
  const started = await startProxies(counts.map(withRoutes), backendPort, async (port) => {
    const received = await status(port, target);
    return received === 200 ? undefined : `status: ${received}`;
  });
  try {
    return await comparePerRequest(started, target, options);
  } finally {
    await started.stop();
  }
}

function withRoutes(count: number): ProxyDefinition {
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
