import type { Table } from '../report/results.ts';
import { startListBackend } from '../support/backends.ts';
import { measureVariants } from '../support/variants.ts';
import { listBody } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

// How many objects a list has: about 1 KiB and 12 KiB.
const itemCounts = [6, 79];

export const adapter: Scenario = {
  name: 'adapter',
  title: 'What does an adapter cost?',
  runs: 'only if named',
  async run(options) {
    const tables: Table[] = [];
    const notes: string[] = [];
    for (const items of itemCounts) {
      const measured = await measureVariants('adapterVariants.ts', options, {
        startBackend: () => startListBackend(items),
      });
      const rows = measured.figures.map(({ name, threadMicros, requests }) => {
        return { name: `version-gateway, ${name}`, samples: [threadMicros / requests] };
      });
      rows.push({ name: 'JSON.parse and JSON.stringify alone', samples: [parseAndStringify(listBody(items))] });
      notes.push(...measured.notes);
      tables.push({
        figure: `${listBody(items).length} bytes: CPU time per request of the serving thread, µs`,
        digits: 1,
        baseline: rows[0]?.name ?? '',
        rows,
        goals: [],
      });
    }
    return {
      text: 'A list of objects from one backend. The adapter renames a field, converts a price and removes a field of each object, and the result is checked against a schema. Every 0.6 s, the gateway changes how it serves the version. An adapter should add at most 15 µs at 1 KiB and 120 µs at 12 KiB.',
      tables,
      notes,
    };
  },
};

/** µs of CPU time in this process. */
function parseAndStringify(text: string): number {
  const bytes = Buffer.from(text);
  const rounds = 5000;
  const run = (): void => {
    for (let round = 0; round < rounds; round += 1) Buffer.from(JSON.stringify(JSON.parse(bytes.toString())));
  };
  run(); // compilers warm up
  const { user, system } = process.cpuUsage();
  run();
  const after = process.cpuUsage();
  return (after.user - user + after.system - system) / rounds;
}
