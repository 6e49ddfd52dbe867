import { gateway, gatewayWithoutFastLane } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { startJsonBackend } from '../support/backends.ts';
import { comparePerRequest } from '../support/compare.ts';
import { checkResponse } from '../support/response.ts';
import { selectProxies, startProxies } from '../support/runningProxies.ts';
import { connections, path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

export const fastLane: Scenario = {
  name: 'fast-lane',
  title: `256-byte JSON with and without the fast lane, ${connections} keep-alive connections`,
  isDefault: false,
  async run(options) {
    const proxies = selectProxies([haproxy, gateway, gatewayWithoutFastLane], options.only);
    const started = await startProxies(proxies, await startJsonBackend(), checkResponse);
    try {
      return await comparePerRequest(started, `/v1${path}`, options);
    } finally {
      await started.stop();
    }
  },
};
