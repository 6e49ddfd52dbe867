import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { caddy } from '../proxies/caddy.ts';
import type { ProxyDefinition } from '../proxies/definition.ts';
import { builtGateway, gatewayFromSources } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { nginx } from '../proxies/nginx.ts';
import { buildNodeLibraries } from '../proxies/nodeLibraries.ts';
import { nodeRelay } from '../proxies/nodeRelay.ts';
import type { Table } from '../report/results.ts';
import { startJsonBackend } from '../support/backends.ts';
import { runToEnd, startServer, temporaryFolder } from '../support/children.ts';
import { freePort } from '../support/ports.ts';
import { cpuSeconds, rssBytes } from '../support/proc.ts';
import { checkResponse } from '../support/response.ts';
import { measureRounds } from '../support/rounds.ts';
import { onlyInstalled, selectProxies } from '../support/runningProxies.ts';
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
  readonly megabytes: number;
}

export const start: Scenario = {
  name: 'start',
  title: 'How long does a start take, and how much memory does a proxy need at rest?',
  runs: 'unless quick',
  async run(options) {
    const backendPort = await startJsonBackend();
    await runToEnd({ program: process.execPath, args: [buildScript] }, 'onAnyCore');
    const peers = [haproxy, builtGateway, gatewayFromSources, nginx, caddy, nodeRelay, await buildNodeLibraries()];
    const { installed, notes } = onlyInstalled(selectProxies(peers, options.onlyProxies));
    const startOne = (proxy: ProxyDefinition) => measure(proxy, backendPort);
    // The first start fills the caches of the file system and of V8.
    const samples = await measureRounds(installed, options.rounds, startOne, startOne);
    const table = (figure: string, key: keyof Sample, goals: Table['goals']): Table => ({
      figure,
      digits: 0,
      rows: samples.rows(key),
      goals,
    });
    return {
      text: `A proxy is started, and gets its first request as soon as it accepts connections. Its memory is read ${restMs / 1000} s after the response. The gateway is started from the built package, as users install it, and from its sources.`,
      tables: [
        table('from the start of the process to the first response, ms', 'firstAnswerMs', [{ atMost: 300 }]),
        table('CPU time until the first response, ms', 'cpuMs', []),
        table('resident memory at rest, MB', 'megabytes', [{ atMost: 80 }]),
      ],
      notes: [...notes, ...samples.notes],
    };
  },
};

async function measure({ name, command }: ProxyDefinition, backendPort: number): Promise<Sample> {
  const port = await freePort();
  const toStart = command({ port, backendPort, folder: temporaryFolder() });
  const startedAt = performance.now();
  const child = await startServer(toStart, port, 'onProxyCore', attemptMs);
  try {
    const reason = await checkResponse(port);
    const firstAnswerMs = performance.now() - startedAt;
    if (reason !== undefined) throw new Error(`${name} returns a wrong response (${reason})`);
    const cpuMs = cpuSeconds(child.pid) * 1000;
    await sleep(restMs);
    return { firstAnswerMs, cpuMs, megabytes: rssBytes(child.pid) / 1e6 };
  } finally {
    await child.stop();
  }
}
