import type { Options } from '../options.ts';
import type { ProxyDefinition } from '../proxies/definition.ts';
import { gatewayWithH2c } from '../proxies/gateway.ts';
import { haproxy } from '../proxies/haproxy.ts';
import { http2Relay } from '../proxies/http2Relay.ts';
import { standaloneProxies } from '../proxies/index.ts';
import { nodeRelay } from '../proxies/nodeRelay.ts';
import type { Goal, Section, Table } from '../report/results.ts';
import { startJsonBackend } from '../support/backends.ts';
import { createCertificate } from '../support/certificate.ts';
import { compareCpu } from '../support/compare.ts';
import { runH2load } from '../support/load.ts';
import { checkResponse } from '../support/response.ts';
import { selectProxies, startProxies } from '../support/runningProxies.ts';
import { path } from '../support/workload.ts';
import type { Scenario } from './scenario.ts';

const handshakesPerSecond = 600;

/** `h2c` is HTTP/2 without TLS. `h2` and `http/1.1` use TLS here. */
type Protocol = Parameters<typeof runH2load>[1];

export const http2: Scenario = {
  name: 'h2',
  title: 'What does a request cost over HTTP/2?',
  runs: 'unless quick',
  needs: ['h2load', 'openssl'],
  async run(options) {
    const args = (seconds: number) => ['-D', `${seconds}`, '-c', '16', '-m', '10'];
    const goal = { atMost: 1.6, times: 'HAProxy' };
    const secure = await compare('h2', [...standaloneProxies, http2Relay], args, options, goal);
    // Without TLS, only HAProxy and the gateway are configured to accept HTTP/1.1 and HTTP/2 on one port.
    const plain = await compare('h2c', [haproxy, gatewayWithH2c, http2Relay], args, options, goal);
    const withPrefix = (what: string, table: Table): Table => ({ ...table, figure: `${what}: ${table.figure}` });
    return {
      text: 'The workload is that of *What does a small request cost?*, over HTTP/2, once with TLS and once without. h2load opens 16 connections with 10 concurrent streams each. The backend is reached over HTTP/1.1 without TLS.',
      tables: [
        ...secure.tables.map((table) => withPrefix('with TLS', table)),
        ...plain.tables.map((table) => withPrefix('without TLS', table)),
      ],
      notes: [...secure.notes, ...plain.notes],
    };
  },
};

export const handshakes: Scenario = {
  name: 'handshakes',
  title: 'What does a TLS handshake cost?',
  runs: 'unless quick',
  needs: ['h2load', 'openssl'],
  async run(options) {
    const args = (seconds: number) => {
      const count = String(handshakesPerSecond * seconds);
      return ['--h1', '-n', count, '-c', count, '-r', String(handshakesPerSecond)];
    };
    return {
      text: `${handshakesPerSecond} connections per second from h2load, each with a full handshake (TLS 1.3, ECDSA P-256, no session resumption) and one request of *What does a small request cost?*. Each figure is the cost of the handshake and its request together.`,
      ...(await compare('http/1.1', [...standaloneProxies, nodeRelay], args, options, { atMost: 1.3, times: 'nginx' })),
    };
  },
};

/** Loads every proxy with h2load. */
async function compare(
  protocol: Protocol,
  peers: readonly ProxyDefinition[],
  args: (seconds: number) => readonly string[],
  options: Options,
  goal: Goal,
): Promise<Pick<Section, 'tables' | 'notes'>> {
  const isSecure = protocol !== 'h2c';
  const setup = isSecure ? { certificate: await createCertificate() } : {};
  const url = (port: number) => `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}/v1${path}`;
  const check = async (port: number) => {
    const wrong = await checkResponse(port, { isSecure, isHttp2: protocol !== 'http/1.1' });
    if (wrong !== undefined) return wrong;
    await runH2load(url(port), protocol, ['-n', '1', ...(protocol === 'http/1.1' ? ['--h1'] : [])]);
    return undefined;
  };
  // A proxy that does not speak the protocol is left out.
  const proxies = selectProxies(peers, options.onlyProxies).map((proxy) => ({ ...proxy, required: false }));
  const started = await startProxies(proxies, await startJsonBackend(), check, setup);
  const send = ({ port }: { readonly port: number }, seconds: number) => runH2load(url(port), protocol, args(seconds));
  try {
    const { cpu, notes } = await compareCpu(started, send, options, [goal]);
    return { tables: [cpu], notes };
  } finally {
    await started.stop();
  }
}
