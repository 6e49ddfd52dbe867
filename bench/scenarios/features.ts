import { fileURLToPath } from 'node:url';
import type { Contender } from '../proxies/contender.ts';
import { status } from '../support/answer.ts';
import { startJsonBackend } from '../support/backends.ts';
import { comparePerRequest } from '../support/compare.ts';
import { lineUp } from '../support/lineup.ts';
import { path } from '../support/work.ts';
import type { Scenario } from './scenario.ts';

const probe = fileURLToPath(new URL('../probes/observed.ts', import.meta.url));

/** What all of it together may cost, as a share of a request without it. */
const aim = 0.15;

export const features: Scenario = {
  name: 'features',
  title: 'What watching costs: the gateway without a recorder, and with one after the other added',
  ordinary: false,
  async run(options) {
    const target = `/v1${path}`;
    const contenders = [
      observed('nothing'),
      observed('metrics'),
      observed('metrics and ledger'),
      observed('metrics, ledger and access log'),
    ];
    const lineup = await lineUp(contenders, await startJsonBackend(), async (port) => {
      const received = await status(port, target);
      return received === 200 ? undefined : `status: ${received}`;
    });
    try {
      return await comparePerRequest(lineup, target, options, aim);
    } finally {
      await lineup.stop();
    }
  },
};

function observed(what: string): Contender {
  return {
    name: `with ${what}`,
    version: '',
    required: true,
    command: ({ port, backendPort, folder }) => ({
      program: process.execPath,
      args: [probe, String(port), String(backendPort), folder, what],
    }),
  };
}
