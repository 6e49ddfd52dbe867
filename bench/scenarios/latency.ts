import { fileURLToPath } from 'node:url';
import type { Options } from '../options.ts';
import { gateway } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { nginx } from '../proxies/nginx.ts';
import { startJsonBackend } from '../support/backends.ts';
import { runToEnd } from '../support/children.ts';
import { markdownTable, median, withRatio } from '../support/figures.ts';
import { progress } from '../support/progress.ts';
import { checkResponse } from '../support/response.ts';
import { type RunningProxy, selectProxies, startProxies } from '../support/runningProxies.ts';
import { path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

const rate = 5000;
const client = fileURLToPath(new URL('../support/fixedRateClient.ts', import.meta.url));

/** Latencies in ms. `delay99`: how late the generator itself sent, 99th percentile. */
interface Sample {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly delay99: number;
  readonly errors: number;
}

export const latency: Scenario = {
  name: 'latency',
  title: `Latency at ${rate.toLocaleString('en')} requests/s, from the time at which a request is due`,
  isDefault: true,
  async run(options) {
    const proxies = selectProxies([haproxy, nginx, gateway], options.only);
    const { running, stop } = await startProxies(proxies, await startJsonBackend(), checkResponse);
    try {
      return await compare(running, options);
    } finally {
      await stop();
    }
  },
};

async function compare(running: readonly RunningProxy[], options: Options): Promise<string> {
  const samples = new Map<RunningProxy, Sample[]>(running.map((proxy) => [proxy, []]));
  for (const proxy of running) await measure(proxy, options.quick ? 1 : 3); // compilers warm up
  for (let round = 1; round <= options.rounds; round++) {
    for (const [proxy, taken] of samples) {
      const sample = await measure(proxy, options.seconds);
      taken.push(sample);
      const figures = `p50 ${sample.p50.toFixed(2)}, p99 ${sample.p99.toFixed(2)}, p99.9 ${sample.p999.toFixed(2)} ms`;
      progress(`round ${round}/${options.rounds}  ${proxy.definition.name}: ${figures}`);
    }
  }
  return table(samples);
}

async function measure({ port }: RunningProxy, seconds: number): Promise<Sample> {
  const url = `http://127.0.0.1:${port}/v1${path}`;
  const args = [client, url, String(rate), String(seconds)];
  const written = await runToEnd({ program: process.execPath, args }, 'load');
  return JSON.parse(written.slice(written.lastIndexOf('\n{'))) as Sample;
}

const columns = [
  { title: 'p50 ms', read: (sample: Sample) => sample.p50 },
  { title: 'p99 ms', read: (sample: Sample) => sample.p99 },
  { title: 'p99.9 ms', read: (sample: Sample) => sample.p999 },
  { title: 'generator late, p99 ms', read: (sample: Sample) => sample.delay99 },
];

function table(samples: ReadonlyMap<RunningProxy, readonly Sample[]>): string {
  const [baseline = []] = samples.values();
  const rows = [...samples].map(([{ definition }, taken]) => {
    const errors = taken.reduce((total, sample) => total + sample.errors, 0);
    const name = `${definition.name} ${definition.version ?? ''}${errors > 0 ? ` (${errors} ERRORS)` : ''}`;
    return [
      name,
      ...columns.map(({ read }) => withRatio(median(taken.map(read)), median(baseline.map(read)), 2)),
      spread(taken.map(({ p99 }) => p99)),
    ];
  });
  return markdownTable(['proxy', ...columns.map(({ title }) => title), 'p99 of all rounds'], rows);
}

function spread(values: readonly number[]): string {
  return `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`;
}
