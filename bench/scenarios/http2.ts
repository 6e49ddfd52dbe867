import type { Options } from '../options.ts';
import { gatewayWithHttp2 } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { startJsonBackend } from '../support/backends.ts';
import { runToEnd } from '../support/children.ts';
import { markdownTable, median, withRatio } from '../support/figures.ts';
import { cpuSeconds } from '../support/proc.ts';
import { progress } from '../support/progress.ts';
import { checkResponse } from '../support/response.ts';
import { selectProxies, startProxies } from '../support/runningProxies.ts';
import { programVersion } from '../support/versions.ts';
import { path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

const connections = 16;
const streams = 10;

export const http2: Scenario = {
  name: 'h2',
  title: `256-byte JSON over HTTP/2 without TLS, ${connections} connections with ${streams} streams each`,
  isDefault: false,
  async run(options) {
    if (programVersion('h2load', ['--version']) === undefined) return 'h2load is not installed (nghttp2-client).';
    // HAProxy accepts HTTP/2 with prior knowledge on any listener without TLS.
    const started = await startProxies(
      selectProxies([haproxy, gatewayWithHttp2], options.only),
      await startJsonBackend(),
      checkResponse,
    );
    try {
      const figures = started.running.map(() => [] as number[]);
      for (let round = 0; round <= options.rounds; round += 1) {
        for (const [at, { definition, port, child }] of started.running.entries()) {
          const micros = await cpuPerRequest(port, child.pid, options);
          // The first round warms up compilers.
          if (round > 0) figures[at]?.push(micros);
          progress(`round ${round}/${options.rounds}  ${definition.name}: ${micros.toFixed(1)} µs CPU/request`);
        }
      }
      const [baseline = []] = figures;
      const rows = started.running.map(({ definition: { name, version } }, at) => [
        `${name} ${version ?? ''}`.trim(),
        withRatio(median(figures[at] ?? []), median(baseline), 1),
      ]);
      return markdownTable(['proxy', 'CPU µs/request'], rows);
    } finally {
      await started.stop();
    }
  },
};

async function cpuPerRequest(port: number, pid: number, { seconds }: Options): Promise<number> {
  const before = cpuSeconds(pid);
  const args = ['-D', String(seconds), '-c', String(connections), '-m', String(streams)];
  const written = await runToEnd({ program: 'h2load', args: [...args, `http://127.0.0.1:${port}/v1${path}`] }, 'load');
  const used = cpuSeconds(pid) - before;
  const [, done, failed] = /(\d+) succeeded, (\d+) failed/.exec(written) ?? [];
  if (done === undefined || Number(done) === 0 || failed !== '0') throw new Error(`requests failed: ${written}`);
  return (used * 1e6) / Number(done);
}
