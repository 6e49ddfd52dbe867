import httpProxy from '@fastify/http-proxy';
import { fastify } from 'fastify';
import { headers, successorLink } from '../support/workload.ts';

const [port = 0, backendPort] = process.argv.slice(2).map(Number);

const app = fastify({ logger: false, bodyLimit: 16 * 1024 * 1024 });
await app.register(httpProxy, {
  upstream: `http://127.0.0.1:${backendPort}`,
  prefix: '/v1',
  disableRequestLogging: true,
  undici: { connections: 256, pipelining: 1, keepAliveTimeout: 60_000 },
  replyOptions: {
    rewriteHeaders: (received, request) => {
      received['deprecation'] = headers.deprecation;
      received['sunset'] = headers.sunset;
      received['link'] = successorLink((request?.url ?? '').slice('/v1'.length));
      return received;
    },
  },
});
await app.listen({ host: '127.0.0.1', port: port });
