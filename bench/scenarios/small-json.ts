import { proxies } from '../proxies/index.ts';
import { wrongAnswer } from '../support/answer.ts';
import { startJsonBackend } from '../support/backends.ts';
import { comparePerRequest } from '../support/compare.ts';
import { chosen, lineUp } from '../support/lineup.ts';
import { connections, path } from '../support/work.ts';
import type { Scenario } from './scenario.ts';

export const smallJson: Scenario = {
  name: 'small-json',
  title: `256-byte JSON, prefix stripped, three headers set, ${connections} keep-alive connections`,
  ordinary: true,
  async run(options) {
    const lineup = await lineUp(chosen(proxies, options.only), await startJsonBackend(), wrongAnswer);
    try {
      return await comparePerRequest(lineup, `/v1${path}`, options);
    } finally {
      await lineup.stop();
    }
  },
};
