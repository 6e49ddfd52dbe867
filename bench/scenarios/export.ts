import { fileURLToPath } from 'node:url';
import { startServer } from '../support/children.ts';
import { freePort } from '../support/ports.ts';
import { measureVariants } from '../support/variants.ts';
import type { Scenario } from './scenario.ts';

const collector = fileURLToPath(new URL('../support/acceptAll.ts', import.meta.url));

export const exportOverOtlp: Scenario = {
  name: 'export',
  title: 'What does `telemetry` cost?',
  runs: 'only if named',
  async run(options) {
    const port = await freePort();
    const server = await startServer(
      { program: process.execPath, args: [collector, String(port)] },
      port,
      'onGeneratorCores',
    );
    const { figures, notes } = await measureVariants('exportVariants.ts', options, { args: [String(port)] });
    await server.stop();
    // Measures only the serving thread: the export thread may send the spans of a variant after the interval of that variant.
    const rows = figures.map(({ name, threadMicros, requests }) => {
      return { name: `version-gateway, exports ${name}`, samples: [threadMicros / requests] };
    });
    return {
      text: 'The workload of *What does a small request cost?*. Every 0.6 s, the gateway changes what it exports. With 1 % of the traces, the export should add at most 1 µs.',
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
