import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { caddy } from '../proxies/caddy.ts';
import type { ProxyDefinition } from '../proxies/definition.ts';
import { builtGateway, gateway } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { nginx } from '../proxies/nginx.ts';
import { startJsonBackend } from '../support/backends.ts';
import { runToEnd, startServer, temporaryFolder } from '../support/children.ts';
import { markdownTable, median, withRatio } from '../support/figures.ts';
import { freePort } from '../support/ports.ts';
import { cpuSeconds, rssBytes } from '../support/proc.ts';
import { progress } from '../support/progress.ts';
import { checkResponse } from '../support/response.ts';
import { selectProxies } from '../support/runningProxies.ts';
import type { Scenario } from './scenario.ts';

const buildScript = fileURLToPath(new URL('../../tools/build.ts', import.meta.url));
/** Time between two attempts to connect to a proxy that starts. */
const attemptMs = 2;
/** After its first answer, a proxy gets no requests for this time before its memory is read. */
const restMs = 3000;

interface Sample {
  /** From the start of the process to the end of its first response. */
  readonly firstAnswerMs: number;
  readonly cpuMs: number;
  readonly mebibytes: number;
}

export const start: Scenario = {
  name: 'start',
  title: 'Start and memory at rest',
  isDefault: true,
  async run(options) {
    const backendPort = await startJsonBackend();
    await runToEnd({ program: process.execPath, args: [buildScript] }, 'any');
    const installed = selectProxies([builtGateway, gateway, haproxy, nginx, caddy], options.only).filter(
      ({ version }) => version,
    );
    // Not counted: the first start fills the caches of the file system and of V8.
    for (const proxy of installed) await measure(proxy, backendPort);
    const samples = new Map<ProxyDefinition, Sample[]>(installed.map((proxy) => [proxy, []]));
    for (let round = 1; round <= options.rounds; round++) {
      for (const [proxy, taken] of samples) {
        const sample = await measure(proxy, backendPort);
        taken.push(sample);
        const figures = `${Math.round(sample.firstAnswerMs)} ms, ${sample.mebibytes.toFixed(1)} MiB`;
        progress(`round ${round}/${options.rounds}  ${proxy.name}: ${figures}`);
      }
    }
    return table(samples);
  },
};

async function measure({ name, command }: ProxyDefinition, backendPort: number): Promise<Sample> {
  const port = await freePort();
  const toStart = command({ port, backendPort, folder: temporaryFolder() });
  const begun = performance.now();
  const child = await startServer(toStart, port, 'proxy', attemptMs);
  try {
    const reason = await checkResponse(port);
    const firstAnswerMs = performance.now() - begun;
    if (reason !== undefined) throw new Error(`${name} returns a wrong response (${reason})`);
    const cpuMs = cpuSeconds(child.pid) * 1000;
    await sleep(restMs);
    return { firstAnswerMs, cpuMs, mebibytes: rssBytes(child.pid) / 2 ** 20 };
  } finally {
    await child.stop();
  }
}

const columns = [
  { title: 'first answer ms', digits: 0, read: (sample: Sample) => sample.firstAnswerMs },
  { title: 'CPU ms until then', digits: 0, read: (sample: Sample) => sample.cpuMs },
  { title: 'MiB at rest', digits: 1, read: (sample: Sample) => sample.mebibytes },
];

function table(samples: ReadonlyMap<ProxyDefinition, readonly Sample[]>): string {
  const [baseline = []] = samples.values();
  const rows = [...samples].map(([{ name, version }, taken]) => [
    `${name} ${version}`,
    ...columns.map(({ read, digits }) => withRatio(median(taken.map(read)), median(baseline.map(read)), digits)),
  ]);
  return markdownTable(['proxy', ...columns.map(({ title }) => title)], rows);
}
