import { fileURLToPath } from 'node:url';
import type { ProxyDefinition } from '../proxies/definition.ts';
import { gateway } from '../proxies/gateway.ts';
import { startJsonBackend } from '../support/backends.ts';
import { comparePerRequest } from '../support/compare.ts';
import { status } from '../support/response.ts';
import { startProxies } from '../support/runningProxies.ts';
import { packageVersion } from '../support/versions.ts';
import { path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

const probe = fileURLToPath(new URL('../probes/undici.ts', import.meta.url));

const undici: ProxyDefinition = {
  name: 'probe: node:http server, undici client',
  version: packageVersion('undici'),
  command: ({ port, backendPort }) => ({ program: process.execPath, args: [probe, String(port), String(backendPort)] }),
};

export const wireClient: Scenario = {
  name: 'wire-client',
  title:
    'Wire client: the whole gateway with its own HTTP/1.1 client, compared with undici in a probe that only forwards',
  isDefault: true,
  async run(options) {
    const target = `/v1${path}`;
    const started = await startProxies([gateway, undici], await startJsonBackend(), async (port) => {
      const received = await status(port, target);
      return received === 200 ? undefined : `status: ${received}`;
    });
    try {
      return await comparePerRequest(started, target, options);
    } finally {
      await started.stop();
    }
  },
};
