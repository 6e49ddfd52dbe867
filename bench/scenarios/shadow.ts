import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { ProxyDefinition } from '../proxies/definition.ts';
import { gatewayCommand } from '../proxies/gateway.ts';
import type { Table } from '../report/results.ts';
import { startJsonBackend } from '../support/backends.ts';
import { runToEnd } from '../support/children.ts';
import { errorNotes } from '../support/compare.ts';
import { freePort } from '../support/ports.ts';
import { mainThreadSeconds } from '../support/proc.ts';
import { measureRounds } from '../support/rounds.ts';
import { type RunningProxy, startProxies } from '../support/runningProxies.ts';
import { path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

const clientScript = fileURLToPath(new URL('../support/fixedRateClient.ts', import.meta.url));
const requestsPerSecond = 2000;
const noCheck = async () => undefined;
const withoutShadow = 'version-gateway, no shadow';

/** `shadowPort`: the port of `/v2`, which gets the copies of requests to `/v1`. Undefined: `/v1` has no shadow. */
function gatewayWith(name: string, shadowPort: number | undefined): ProxyDefinition {
  const until = new Date(Date.now() + 86_400_000).toISOString();
  const shadow = `shadow: { to: /v2, sample: 1%, until: ${until} }`;
  return {
    name,
    version: 'this checkout',
    required: true,
    command: ({ port, backendPort, folder }) => {
      const v1 = `{ upstream: http://127.0.0.1:${backendPort}${shadowPort === undefined ? '' : `, ${shadow}`} }`;
      const routes = `routes:\n  /v1: ${v1}\n  /v2: http://127.0.0.1:${shadowPort ?? backendPort}\nlog: { access: off }\n`;
      return gatewayCommand({ port, folder, routes });
    },
  };
}

export const shadow: Scenario = {
  name: 'shadow',
  title: 'What does a shadow cost clients, if the other version is down or does not answer?',
  runs: 'only if named',
  async run(options) {
    const silentServer = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silentServer, 'listening');
    const backendPort = await startJsonBackend();
    const gateways = [
      gatewayWith(withoutShadow, undefined),
      gatewayWith('version-gateway, shadow', backendPort),
      gatewayWith('version-gateway, shadow to a version that is down', await freePort()),
      gatewayWith(
        'version-gateway, shadow to a version that does not answer',
        (silentServer.address() as AddressInfo).port,
      ),
    ];
    const proxySet = await startProxies(gateways, backendPort, noCheck);
    const errorsByProxy = new Map<string, number>();
    const send = async ({ port }: RunningProxy, seconds: number) => {
      const args = [clientScript, `http://127.0.0.1:${port}/v1${path}`, `${requestsPerSecond}`, `${seconds}`];
      const written = await runToEnd({ program: process.execPath, args }, 'onGeneratorCores');
      return JSON.parse(written) as { readonly p50: number; readonly p99: number; readonly errors: number };
    };
    try {
      const seconds = options.quick ? 1 : Math.max(4, options.seconds);
      const measure = async (proxy: RunningProxy) => {
        const secondsBefore = mainThreadSeconds(proxy.child.pid);
        const { p50, p99, errors: failed } = await send(proxy, seconds);
        errorsByProxy.set(proxy.name, (errorsByProxy.get(proxy.name) ?? 0) + failed);
        const micros = ((mainThreadSeconds(proxy.child.pid) - secondsBefore) * 1e6) / (requestsPerSecond * seconds);
        return { micros, p50, p99 };
      };
      const warmUp = (proxy: RunningProxy) => send(proxy, options.quick ? 1 : 2);
      const samples = await measureRounds(proxySet.running, options.rounds, measure, warmUp);
      const table = (figure: string, key: 'micros' | 'p50' | 'p99', goals: Table['goals'] = []): Table => {
        return { figure, digits: 2, baseline: withoutShadow, rows: samples.rows(key), goals };
      };
      return {
        text: `The workload of *What does a small request cost?* at ${requestsPerSecond.toLocaleString('en')} requests per second, with 1 % of them sampled. Copies are sent by another thread, at most 5 per second.`,
        tables: [
          table('CPU time per request of the serving thread, µs', 'micros'),
          table('50 % of the requests take at most, ms', 'p50'),
          table('99 % of the requests take at most, ms', 'p99'),
        ],
        notes: [...proxySet.notes, ...samples.notes, ...errorNotes(errorsByProxy)],
      };
    } finally {
      await proxySet.stop();
      silentServer.close();
    }
  },
};
