import { fileURLToPath } from 'node:url';
import { startServer } from '../support/children.ts';
import { markdownTable, withRatio } from '../support/figures.ts';
import { freePort } from '../support/ports.ts';
import { measureVariants } from '../support/variants.ts';
import type { Scenario } from './scenario.ts';

const collector = fileURLToPath(new URL('../support/acceptAll.ts', import.meta.url));

export const exportOverOtlp: Scenario = {
  name: 'export',
  title: 'Cost of `telemetry`: one gateway that changes every 0.6 s what it exports',
  isDefault: false,
  async run(options) {
    const port = await freePort();
    const server = await startServer({ program: process.execPath, args: [collector, String(port)] }, port, 'load');
    const { figures, errors } = await measureVariants('exportVariants.ts', options, [String(port)]);
    await server.stop();
    const costs = figures.map(({ threadMicros, requests }) => threadMicros / requests);
    const [least = Number.NaN] = costs;
    // Not the CPU time of the process: spans are exported after the interval of their variant.
    const rows = figures.map(({ records, requests }, index) => {
      const cost = costs[index] ?? Number.NaN;
      const more = index === 0 ? '' : (cost - least).toFixed(2);
      return [`exports ${records}`, withRatio(cost, least, 1), more, requests.toLocaleString('en')];
    });
    const head = ['gateway', 'CPU µs/request of the serving thread', 'more µs (target ≤ 1 at 1 %)', 'requests'];
    const table = markdownTable(head, rows);
    return errors > 0 ? `${table}\n\n${errors} ERRORS: the figures are not valid.` : table;
  },
};
