import { measureVariants } from '../support/variants.ts';
import type { Scenario } from './scenario.ts';

/** The target: the CPU time with all features, as a multiple of that without them. */
const most = 1.15;
const least = 'version-gateway, records nothing';

export const features: Scenario = {
  name: 'features',
  title: 'What do metrics, ledger and access log cost?',
  runs: 'named',
  async run(options) {
    const { figures, notes } = await measureVariants('recordingVariants.ts', options);
    const rows = figures.map(({ name, cpuMicros, requests }) => {
      return { name: `version-gateway, records ${name}`, samples: [cpuMicros / requests] };
    });
    return {
      text: 'The workload of the first question. One gateway changes every 0.6 s what it records, so that other work on the machine affects all variants alike.',
      tables: [
        {
          figure: 'CPU time per request, µs',
          digits: 1,
          baseline: least,
          rows: rows.toReversed(),
          targets: [{ atMost: most, times: least }],
        },
      ],
      notes,
    };
  },
};
