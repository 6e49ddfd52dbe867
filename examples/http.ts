// The gateway as the only handler of a node:http server.
import { createServer } from 'node:http';
// In your own project: from 'version-gateway'.
import { createVersionGateway } from '../gateway/index.ts';

const config = {
  routes: {
    '/v1': {
      upstream: process.env['V1_URL'] ?? 'http://127.0.0.1:3001',
      deprecation: '2026-06-30',
      sunset: '2029-06-30T23:59:59Z',
    },
    '/v2': { upstream: process.env['V2_URL'] ?? 'http://127.0.0.1:3002', prefix: 'forward' },
  },
};
// No other handler answers `GET /`, so the gateway lists the versions there.
const gateway = createVersionGateway(config, { discovery: true });

const server = createServer(gateway);
server.on('upgrade', gateway.upgrade);
server.on('close', gateway.close);
// Closing the server writes the usage counts of the last seconds.
process.once('SIGTERM', () => server.close());
server.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1', () => {
  console.log('listening on', server.address());
});
