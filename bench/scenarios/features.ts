import type { VariantFigure } from '../support/alternation.ts';
import { markdownTable, withRatio } from '../support/figures.ts';
import { measureVariants } from '../support/variants.ts';
import type { Scenario } from './scenario.ts';

/** The most CPU time that all of them together may add, as a share of that of a request without them. */
const targetShare = 0.15;

export const features: Scenario = {
  name: 'features',
  title: 'Cost of metrics, ledger and access log: one gateway that changes every 0.6 s what it records',
  isDefault: false,
  async run(options) {
    const { figures, errors } = await measureVariants('recordingVariants.ts', options);
    return errors > 0 ? `${table(figures)}\n\n${errors} ERRORS: the figures are not valid.` : table(figures);
  },
};

function table(figures: readonly VariantFigure[]): string {
  const costs = figures.map(({ cpuMicros, requests }) => cpuMicros / requests);
  const [least = Number.NaN] = costs;
  const rows = figures.map(({ records, requests }, index) => {
    const cost = costs[index] ?? Number.NaN;
    const more = index === 0 ? '' : `${((cost / least - 1) * 100).toFixed(1)} %`;
    return [`records ${records}`, withRatio(cost, least, 1), more, requests.toLocaleString('en')];
  });
  return markdownTable(['gateway', 'CPU µs/request', `more CPU (target ≤ ${targetShare * 100} %)`, 'requests'], rows);
}
