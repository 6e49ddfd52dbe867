import type { Options } from '../options.ts';
import { markdownTable, median, withRatio } from './figures.ts';
import type { Entrant, Lineup } from './lineup.ts';
import { runLoad, runMeasured } from './load.ts';
import { progress } from './progress.ts';
import { connections } from './work.ts';

interface Sample {
  readonly cpuMicros: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
}

/** A table of CPU, throughput and latency per request; the first of the lineup is the yardstick of the ratios. */
export async function comparePerRequest(
  { entrants, absent }: Lineup,
  target: string,
  options: Options,
): Promise<string> {
  const samples = new Map<Entrant, Sample[]>(entrants.map((entrant) => [entrant, []]));
  const load = (port: number, seconds: number) => ({ url: `http://127.0.0.1:${port}${target}`, connections, seconds });

  for (const { port } of entrants) await runLoad(load(port, options.quick ? 1 : 3)); // compilers warm up
  // Every round visits everybody, so that a slow minute of the machine falls on all of them.
  for (let round = 1; round <= options.rounds; round++) {
    for (const [{ proxy, port, child }, taken] of samples) {
      const report = await runMeasured(child.pid, load(port, options.seconds));
      const { requests, seconds, p50, p99, errors } = report;
      const sample = {
        cpuMicros: (report.cpuSeconds * 1e6) / requests,
        perSecond: requests / seconds,
        p50,
        p99,
        errors,
      };
      taken.push(sample);
      const figures = `${sample.cpuMicros.toFixed(1)} µs CPU/request, ${Math.round(sample.perSecond)} requests/s`;
      progress(`round ${round}/${options.rounds}  ${proxy.name}: ${figures}${errors ? `, ${errors} ERRORS` : ''}`);
    }
  }
  return table(samples) + absent.map(({ proxy, reason }) => `\n\n${proxy.name}: ${reason}.`).join('');
}

const columns = [
  { title: 'CPU µs/request', digits: 1, of: (sample: Sample) => sample.cpuMicros },
  { title: 'requests/s', digits: 0, of: (sample: Sample) => sample.perSecond },
  { title: 'p50 ms', digits: 2, of: (sample: Sample) => sample.p50 },
  { title: 'p99 ms', digits: 2, of: (sample: Sample) => sample.p99 },
];

function table(samples: ReadonlyMap<Entrant, readonly Sample[]>): string {
  const [yardstick = []] = samples.values();
  const rows = [...samples].map(([{ proxy }, taken]) => [
    named(proxy.name, proxy.version, taken),
    ...columns.map(({ of, digits }) => withRatio(median(taken.map(of)), median(yardstick.map(of)), digits)),
  ]);
  return markdownTable(['proxy', ...columns.map(({ title }) => title)], rows);
}

/** A figure beside failed requests must not pass for a good one. */
function named(name: string, version: string | undefined, taken: readonly Sample[]): string {
  const errors = taken.reduce((total, sample) => total + sample.errors, 0);
  return `${name} ${version ?? ''}${errors > 0 ? ` (${errors} ERRORS)` : ''}`.trim();
}
