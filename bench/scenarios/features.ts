import { measureVariants } from '../support/variants.ts';
import { clients } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

/** The goal: the CPU time with all features, as a multiple of the CPU time without them. */
const maxCpuRatio = 1.15;
const baseline = 'version-gateway, records nothing';

export const restrictions: Scenario = {
  name: 'restrictions',
  title: 'What do rules for single clients cost?',
  runs: 'only if named',
  needs: ['wrk'],
  async run(options) {
    const { figures, notes } = await measureVariants('restrictionVariants.ts', options, {
      mix: { clients, routes: 1 },
    });
    const rows = figures.map(({ name, threadMicros, requests }) => {
      return { name: `version-gateway, ${name}`, samples: [threadMicros / requests] };
    });
    return {
      text: 'The workload of *What does a small request cost?*, from 50 clients, with metrics and ledger. All requests are forwarded. One gateway changes its rules every 0.6 s. The waivers, the freeze and the brownout should each add at most 1 µs to requests of their version, and nothing to requests of other versions.',
      tables: [
        {
          figure: 'CPU time per request of the serving thread, µs',
          digits: 2,
          baseline: rows[0]?.name ?? '',
          rows,
          goals: [],
        },
      ],
      notes,
    };
  },
};

export const features: Scenario = {
  name: 'features',
  title: 'What do metrics, ledger and access log cost?',
  runs: 'only if named',
  async run(options) {
    const { figures, notes } = await measureVariants('recordingVariants.ts', options);
    const rows = figures.map(({ name, cpuMicros, requests }) => {
      return { name: `version-gateway, records ${name}`, samples: [cpuMicros / requests] };
    });
    return {
      text: 'The workload of *What does a small request cost?*. Every 0.6 s, the gateway changes what it records, so that other work on the machine affects all variants alike.',
      tables: [
        {
          figure: 'CPU time per request, µs',
          digits: 1,
          baseline,
          rows: rows.toReversed(),
          goals: [{ atMost: maxCpuRatio, times: baseline }],
        },
      ],
      notes,
    };
  },
};
