import type { Options } from '../options.ts';
import { caddy } from '../proxies/caddy.ts';
import { gateway } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { httpProxyMiddleware } from '../proxies/httpProxyMiddleware.ts';
import { nginx } from '../proxies/nginx.ts';
import { startBodiesBackend } from '../support/backends.ts';
import { markdownTable, median, withRatio } from '../support/figures.ts';
import { runMeasured } from '../support/load.ts';
import { progress } from '../support/progress.ts';
import { status } from '../support/response.ts';
import { type RunningProxy, selectProxies, startProxies } from '../support/runningProxies.ts';
import type { Scenario } from './scenario.ts';

const mebibyte = 2 ** 20;
const gibibyte = 2 ** 30;
const size = 10 * mebibyte;
const directions = ['download', 'upload'] as const;

interface Sample {
  readonly cpuPerGiB: number;
  readonly mibPerSecond: number;
}

export const bodies: Scenario = {
  name: 'bodies',
  title: 'Bodies of 10 MiB, 8 connections',
  isDefault: true,
  async run(options) {
    const proxies = selectProxies([haproxy, gateway, nginx, caddy, httpProxyMiddleware], options.only);
    const started = await startProxies(proxies, await startBodiesBackend(), async (port) => {
      const received = await status(port, '/v1/large');
      return received === 200 ? undefined : `status: ${received}`;
    });
    try {
      const tables: string[] = [];
      for (const direction of directions) tables.push(await compare(started.running, direction, options));
      return [...tables, ...started.skipped.map(({ definition, reason }) => `${definition.name}: ${reason}.`)].join(
        '\n\n',
      );
    } finally {
      await started.stop();
    }
  },
};

async function compare(
  running: readonly RunningProxy[],
  direction: (typeof directions)[number],
  options: Options,
): Promise<string> {
  const samples = new Map<RunningProxy, Sample[]>(running.map((proxy) => [proxy, []]));
  for (let round = 1; round <= options.rounds; round++) {
    for (const [proxy, taken] of samples) {
      const sample = await measure(proxy, direction === 'upload' ? size : 0, options.seconds);
      taken.push(sample);
      const figures = `${sample.cpuPerGiB.toFixed(2)} s CPU/GiB, ${Math.round(sample.mibPerSecond)} MiB/s`;
      progress(`round ${round}/${options.rounds}  ${proxy.definition.name}, ${direction}: ${figures}`);
    }
  }
  const [baseline = []] = samples.values();
  const figure = (taken: readonly Sample[], key: keyof Sample) => median(taken.map((sample) => sample[key]));
  const rows = [...samples].map(([{ definition }, taken]) => [
    `${definition.name} ${definition.version}`,
    withRatio(figure(taken, 'cpuPerGiB'), figure(baseline, 'cpuPerGiB'), 2),
    withRatio(figure(taken, 'mibPerSecond'), figure(baseline, 'mibPerSecond'), 0),
  ]);
  return markdownTable([direction, 'CPU s/GiB', 'MiB/s'], rows);
}

async function measure({ port, child }: RunningProxy, bodyBytes: number, seconds: number): Promise<Sample> {
  const url = `http://127.0.0.1:${port}/v1/large`;
  const report = await runMeasured(child.pid, { url, connections: 8, seconds, bodyBytes });
  if (report.errors > 0) progress(`${report.errors} ERRORS`);
  // Received bytes are counted as they arrive, sent bytes only when their request is complete.
  const moved = bodyBytes > 0 ? report.requests * bodyBytes : report.bytes;
  return { cpuPerGiB: report.cpuSeconds / (moved / gibibyte), mibPerSecond: moved / mebibyte / report.seconds };
}
