import type { ProxyDefinition } from '../proxies/definition.ts';
import { gatewayCommand } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { startJsonBackend } from '../support/backends.ts';
import { comparePerRequest } from '../support/compare.ts';
import { statusOf } from '../support/response.ts';
import { selectProxies, startProxies } from '../support/runningProxies.ts';
import { dates, path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

/** The only version that is not deprecated. All others name it as the newest version. */
const newest = 'v5000';

export const routes: Scenario = {
  name: 'routes',
  title: 'Does the number of versions matter?',
  runs: 'unless quick',
  async run(options) {
    const target = `/v1${path}`;
    const proxies = selectProxies([haproxy, ...[2, 1000].map(withVersions)], options.onlyProxies);
    const started = await startProxies(proxies, await startJsonBackend(), async (port) => {
      const received = await statusOf(port, target);
      return received === 200 ? undefined : `status: ${received}`;
    });
    try {
      const { cpu, notes } = await comparePerRequest(started, { target }, options);
      return {
        text: 'The workload of *What does a small request cost?* with more versions in `routes.yaml`. Requests are for the oldest version, whose responses name its successor and the newest version. HAProxy serves the workload of *What does a small request cost?*.',
        tables: [cpu],
        notes,
      };
    } finally {
      await started.stop();
    }
  },
};

function withVersions(count: number): ProxyDefinition {
  return {
    name: `version-gateway, ${count.toLocaleString('en')} versions`,
    version: '',
    required: true,
    command({ port, backendPort, folder }) {
      const upstream = `http://127.0.0.1:${backendPort}`;
      const deprecatedLines = Array.from({ length: count - 1 }, (_, index) => {
        return `  /v${index + 1}: { upstream: '${upstream}', deprecation: ${dates.deprecation} }`;
      });
      const lines = ['routes:', ...deprecatedLines, `  /${newest}: ${upstream}`, 'log: { access: off }', ''];
      return gatewayCommand({ port, folder, routes: lines.join('\n') });
    },
  };
}
