import type { Options } from '../options.ts';
import { caddy } from '../proxies/caddy.ts';
import { gateway } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { httpProxyMiddleware } from '../proxies/httpProxyMiddleware.ts';
import { nginx } from '../proxies/nginx.ts';
import type { Section } from '../report/results.ts';
import { startBodiesBackend } from '../support/backends.ts';
import { errorNotes } from '../support/compare.ts';
import { runLoad } from '../support/load.ts';
import { cpuSeconds } from '../support/proc.ts';
import { statusOf } from '../support/response.ts';
import { measureRounds } from '../support/rounds.ts';
import { type ProxySet, selectProxies, startProxies } from '../support/runningProxies.ts';
import type { Scenario } from './scenario.ts';

const mebibyte = 2 ** 20;
const gibibyte = 2 ** 30;
const uploadBytes = 10 * mebibyte;
const connections = 8;
const directions = [
  { name: 'download', bodyBytes: 0, goals: [{ atMost: 1, times: 'HAProxy' }] },
  { name: 'upload', bodyBytes: uploadBytes, goals: [{ atMost: 1.2, times: 'HAProxy' }] },
] as const;

export const bodies: Scenario = {
  name: 'bodies',
  title: 'What does a large body cost?',
  runs: 'always',
  async run(options) {
    const proxies = selectProxies([haproxy, gateway, nginx, caddy, httpProxyMiddleware], options.onlyProxies);
    const started = await startProxies(proxies, await startBodiesBackend(), async (port) => {
      const received = await statusOf(port, '/v1/large');
      return received === 200 ? undefined : `status: ${received}`;
    });
    try {
      const parts: Pick<Section, 'tables' | 'notes'>[] = [];
      for (const direction of directions) parts.push(await compare(started, direction, options));
      return {
        text: `Bodies of 10 MiB in responses, then in requests, on ${connections} connections.`,
        tables: parts.flatMap(({ tables }) => tables),
        notes: [...started.notes, ...parts.flatMap(({ notes }) => notes)],
      };
    } finally {
      await started.stop();
    }
  },
};

async function compare(
  { running }: ProxySet,
  { name: direction, bodyBytes, goals }: (typeof directions)[number],
  { rounds, seconds }: Options,
): Promise<Pick<Section, 'tables' | 'notes'>> {
  const errorsByProxy = new Map<string, number>();
  const samples = await measureRounds(running, rounds, async ({ name, port, child }) => {
    const secondsBefore = cpuSeconds(child.pid);
    const report = await runLoad({ url: `http://127.0.0.1:${port}/v1/large`, connections, seconds, bodyBytes });
    errorsByProxy.set(name, (errorsByProxy.get(name) ?? 0) + report.errors);
    // Received bytes are counted as they arrive, sent bytes only when their request is complete.
    const movedBytes = bodyBytes > 0 ? report.requests * bodyBytes : report.bytes;
    return {
      cpuPerGiB: (cpuSeconds(child.pid) - secondsBefore) / (movedBytes / gibibyte),
      mibPerSecond: movedBytes / mebibyte / report.seconds,
    };
  });
  return {
    tables: [
      { figure: `${direction}: CPU time per GiB, s`, digits: 2, rows: samples.rows('cpuPerGiB'), goals },
      {
        figure: `${direction}: MiB per second (more is better)`,
        digits: 0,
        rows: samples.rows('mibPerSecond'),
        goals: [],
      },
    ],
    notes: [...samples.notes, ...errorNotes(errorsByProxy)],
  };
}
