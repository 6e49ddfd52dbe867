import type { Options } from '../options.ts';
import type { ProxyDefinition } from '../proxies/definition.ts';
import { markdownTable, median, withRatio } from './figures.ts';
import { runLoad, runMeasured } from './load.ts';
import { progress } from './progress.ts';
import type { ProxySet, RunningProxy } from './runningProxies.ts';
import { connections } from './workload.ts';

interface Sample {
  readonly cpuMicros: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
}

/** Returns a table of CPU, throughput and latency per request. The first proxy is the baseline of the ratios. */
export async function comparePerRequest(
  { running, skipped }: ProxySet,
  target: string,
  options: Options,
): Promise<string> {
  const samples = new Map<RunningProxy, Sample[]>(running.map((proxy) => [proxy, []]));
  const load = (port: number, seconds: number) => ({ url: `http://127.0.0.1:${port}${target}`, connections, seconds });

  for (const { port } of running) await runLoad(load(port, options.quick ? 1 : 3)); // compilers warm up
  // Every round measures all proxies, so that a slow minute of the machine affects all.
  for (let round = 1; round <= options.rounds; round++) {
    for (const [{ definition, port, child }, taken] of samples) {
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
      progress(`round ${round}/${options.rounds}  ${definition.name}: ${figures}${errors ? `, ${errors} ERRORS` : ''}`);
    }
  }
  return table(samples) + skipped.map(({ definition, reason }) => `\n\n${definition.name}: ${reason}.`).join('');
}

const columns = [
  { title: 'CPU µs/request', digits: 1, read: (sample: Sample) => sample.cpuMicros },
  { title: 'requests/s', digits: 0, read: (sample: Sample) => sample.perSecond },
  { title: 'p50 ms', digits: 2, read: (sample: Sample) => sample.p50 },
  { title: 'p99 ms', digits: 2, read: (sample: Sample) => sample.p99 },
];

function table(samples: ReadonlyMap<RunningProxy, readonly Sample[]>): string {
  const [baseline = []] = samples.values();
  const rows = [...samples].map(([{ definition }, taken]) => [
    nameWithErrors(definition, taken),
    ...columns.map(({ read, digits }) => withRatio(median(taken.map(read)), median(baseline.map(read)), digits)),
  ]);
  return markdownTable(['proxy', ...columns.map(({ title }) => title)], rows);
}

/** Marks a proxy whose requests failed: its figures are not comparable. */
function nameWithErrors({ name, version }: ProxyDefinition, taken: readonly Sample[]): string {
  const errors = taken.reduce((total, sample) => total + sample.errors, 0);
  return `${name} ${version ?? ''}${errors > 0 ? ` (${errors} ERRORS)` : ''}`.trim();
}
