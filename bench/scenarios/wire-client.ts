import { fileURLToPath } from 'node:url';
import type { Contender } from '../proxies/contender.ts';
import { gateway } from '../proxies/gateway.ts';
import { status } from '../support/answer.ts';
import { startJsonBackend } from '../support/backends.ts';
import { comparePerRequest } from '../support/compare.ts';
import { lineUp } from '../support/lineup.ts';
import { packageVersion } from '../support/versions.ts';
import { path } from '../support/work.ts';
import type { Scenario } from './scenario.ts';

const probe = fileURLToPath(new URL('../probes/undici.ts', import.meta.url));

const undici: Contender = {
  name: 'bare probe: node:http in, undici out',
  version: packageVersion('undici'),
  command: ({ port, backendPort }) => ({ program: process.execPath, args: [probe, String(port), String(backendPort)] }),
};

export const wireClient: Scenario = {
  name: 'wire-client',
  title: 'Our own HTTP/1.1 client against undici: the whole gateway beside a probe that does nothing but forward',
  ordinary: true,
  async run(options) {
    const target = `/v1${path}`;
    const lineup = await lineUp([gateway, undici], await startJsonBackend(), async (port) => {
      const received = await status(port, target);
      return received === 200 ? undefined : `status: ${received}`;
    });
    try {
      return await comparePerRequest(lineup, target, options);
    } finally {
      await lineup.stop();
    }
  },
};
