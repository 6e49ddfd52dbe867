import type { Options } from '../options.ts';
import type { ProxyDefinition } from '../proxies/definition.ts';
import { gateway, gatewayWithoutFastLane } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { proxies, standaloneProxies } from '../proxies/index.ts';
import { nodeRelay } from '../proxies/nodeRelay.ts';
import type { Goal, Section } from '../report/results.ts';
import { startJsonBackend } from '../support/backends.ts';
import { createCertificate } from '../support/certificate.ts';
import { comparePerRequest, type SameLoad } from '../support/compare.ts';
import { checkResponse } from '../support/response.ts';
import { selectProxies, startProxies } from '../support/runningProxies.ts';
import { clients, connections, path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

interface Setting {
  readonly peers: readonly ProxyDefinition[];
  readonly load?: Partial<SameLoad>;
  readonly isSecure?: boolean;
  readonly accessLog?: boolean;
  readonly showsRate?: boolean;
  readonly goals?: readonly Goal[];
}

const timesHaproxy = (atMost: number): readonly Goal[] => [{ atMost, times: 'HAProxy' }];
const onConnections = `on ${connections} keep-alive connections`;

export const smallJson: Scenario = {
  name: 'small-json',
  title: 'What does a small request cost?',
  runs: 'always',
  async run(options) {
    const goals = [
      ...timesHaproxy(1.3),
      { atMost: 0.18, times: 'http-proxy-middleware' },
      { atMost: 0.25, times: '@fastify/http-proxy' },
    ];
    return {
      text: `GET of 256 bytes of JSON ${onConnections}, always the same request. The prefix is removed and three fields are set. No access log.`,
      ...(await compare({ peers: [...proxies, nodeRelay], showsRate: true, goals }, options)),
    };
  },
};

export const varied: Scenario = {
  name: 'varied',
  title: 'What does a request cost if requests differ?',
  runs: 'unless quick',
  needs: ['wrk'],
  async run(options) {
    const load = { mix: { clients, routes: 20 } };
    return {
      text: `The same response ${onConnections}. Every request is one of 1,000: 20 paths, and 50 values of a field that names the client.`,
      ...(await compare({ peers: standaloneProxies, load, goals: timesHaproxy(1.6) }, options)),
    };
  },
};

export const accessLog: Scenario = {
  name: 'access-log',
  title: 'What does a request cost with an access log?',
  runs: 'unless quick',
  async run(options) {
    return {
      text: 'The workload of *What does a small request cost?*. In addition, every proxy writes a line of JSON per request to a file. HAProxy cannot open log files: it writes to its standard output, which is redirected to the file.',
      ...(await compare({ peers: standaloneProxies, accessLog: true, goals: timesHaproxy(1.6) }, options)),
    };
  },
};

export const post: Scenario = {
  name: 'post',
  title: 'What does a small POST cost?',
  runs: 'unless quick',
  async run(options) {
    return {
      text: `POST of 1 KiB ${onConnections}; the response has 256 bytes.`,
      ...(await compare({ peers: standaloneProxies, load: { bodyBytes: 1024 }, goals: timesHaproxy(1.7) }, options)),
    };
  },
};

export const tls: Scenario = {
  name: 'tls',
  title: 'What does a request cost over TLS?',
  runs: 'unless quick',
  needs: ['openssl'],
  async run(options) {
    return {
      text: `The workload of *What does a small request cost?* over TLS ${onConnections}; the connection to the backend has no TLS.`,
      ...(await compare({ peers: standaloneProxies, isSecure: true, goals: timesHaproxy(1.8) }, options)),
    };
  },
};

export const fastLane: Scenario = {
  name: 'fast-lane',
  title: 'What does the fast lane save?',
  runs: 'only if named',
  async run(options) {
    return {
      text: 'The workload of *What does a small request cost?*, with and without `gateway.fast_lane`.',
      ...(await compare({ peers: [haproxy, gateway, gatewayWithoutFastLane] }, options)),
    };
  },
};

async function compare(
  { peers, load, isSecure = false, accessLog = false, showsRate = false, goals = [] }: Setting,
  options: Options,
): Promise<Pick<Section, 'tables' | 'notes'>> {
  const setup = { accessLog, ...(isSecure && { certificate: await createCertificate() }) };
  const check = (port: number) => checkResponse(port, { isSecure });
  const started = await startProxies(selectProxies(peers, options.onlyProxies), await startJsonBackend(), check, setup);
  try {
    const sameLoad = { target: `/v1${path}`, isSecure, ...load };
    const { cpu, perSecond, notes } = await comparePerRequest(started, sameLoad, options, goals);
    return { tables: showsRate ? [cpu, perSecond] : [cpu], notes };
  } finally {
    await started.stop();
  }
}
