import { fileURLToPath } from 'node:url';
import { gateway } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { nginx } from '../proxies/nginx.ts';
import { nodeRelay } from '../proxies/nodeRelay.ts';
import type { Table } from '../report/results.ts';
import { startJsonBackend } from '../support/backends.ts';
import { runToEnd } from '../support/children.ts';
import { errorNotes } from '../support/compare.ts';
import { checkResponse } from '../support/response.ts';
import { measureRounds } from '../support/rounds.ts';
import { type RunningProxy, selectProxies, startProxies } from '../support/runningProxies.ts';
import { path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

const clientScript = fileURLToPath(new URL('../support/fixedRateClient.ts', import.meta.url));
const requestsPerSecond = 5000;
/** The 99.9th percentile needs thousands of requests. */
const minSeconds = 4;
/** V8 compiles most of a proxy on Node in the first 30,000 requests. On one core, the compiler threads delay the serving thread. */
const warmUpSeconds = 10;

interface Report {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  /** How late the generator itself sent its requests: 99th percentile, ms. */
  readonly delay99: number;
  readonly errors: number;
}

export const latency: Scenario = {
  name: 'latency',
  title: `How long does a request take at ${requestsPerSecond.toLocaleString('en')} requests per second?`,
  runs: 'always',
  async run(options) {
    const proxySet = await startProxies(
      selectProxies([haproxy, gateway, nginx, nodeRelay], options.onlyProxies),
      await startJsonBackend(),
      checkResponse,
    );
    const errorsByProxy = new Map<string, number>();
    const send = async (port: number, seconds: number): Promise<Report> => {
      const args = [clientScript, `http://127.0.0.1:${port}/v1${path}`, `${requestsPerSecond}`, `${seconds}`];
      return JSON.parse(await runToEnd({ program: process.execPath, args }, 'onGeneratorCores'));
    };
    try {
      const warmUp = ({ port }: RunningProxy) => send(port, options.quick ? 1 : warmUpSeconds);
      const measure = async ({ name, port }: RunningProxy) => {
        const report = await send(port, options.quick ? 1 : Math.max(minSeconds, options.seconds));
        errorsByProxy.set(name, (errorsByProxy.get(name) ?? 0) + report.errors);
        return { p50: report.p50, p99: report.p99, p999: report.p999, delay99: report.delay99 };
      };
      const samples = await measureRounds(proxySet.running, options.rounds, measure, warmUp);
      const table = (figure: string, key: 'p50' | 'p99' | 'p999' | 'delay99', goals: Table['goals'] = []): Table => ({
        figure,
        digits: 2,
        rows: samples.rows(key),
        goals,
      });
      return {
        text: 'The workload of *What does a small request cost?* at a fixed rate. A latency counts from the time at which the request is due, even if it is sent later: a pause of the proxy delays every request that is due meanwhile (no coordinated omission). The last table shows how late the load generator itself sends its requests.',
        tables: [
          table('50 % of the requests take at most, ms', 'p50'),
          table('99 % of the requests take at most, ms', 'p99', [{ atMost: 1.5, times: 'HAProxy' }]),
          table('99.9 % of the requests take at most, ms', 'p999'),
          table('99 % of the requests are sent late by at most, ms', 'delay99'),
        ],
        notes: [...proxySet.notes, ...samples.notes, ...errorNotes(errorsByProxy)],
      };
    } finally {
      await proxySet.stop();
    }
  },
};
