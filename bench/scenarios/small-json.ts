import { proxies } from '../proxies/index.ts';
import { startJsonBackend } from '../support/backends.ts';
import { comparePerRequest } from '../support/compare.ts';
import { checkResponse } from '../support/response.ts';
import { selectProxies, startProxies } from '../support/runningProxies.ts';
import { connections, path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

export const smallJson: Scenario = {
  name: 'small-json',
  title: `256-byte JSON, prefix stripped, three headers set, ${connections} keep-alive connections`,
  isDefault: true,
  async run(options) {
    const started = await startProxies(selectProxies(proxies, options.only), await startJsonBackend(), checkResponse);
    try {
      return await comparePerRequest(started, `/v1${path}`, options);
    } finally {
      await started.stop();
    }
  },
};
