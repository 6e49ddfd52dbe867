// An Express app that has a proxy already: the middleware adds what the versions say about their ends, and counts.
import { createServer } from 'node:http';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
// In your own project: from 'version-gateway/express'.
import { versionLifecycle } from '../gateway/express.ts';

const lifecycle = versionLifecycle(process.env['ROUTES'] ?? 'config/routes.yaml', {
  reload: true,
  ledger: true,
  notice: console.log,
});
const v1 = createProxyMiddleware({
  target: process.env['V1_URL'] ?? 'http://127.0.0.1:3001',
  pathFilter: '/v1/**',
  pathRewrite: { '^/v1': '' },
});

const app = express();
// Before every route whose path begins with a version.
app.use(lifecycle);
app.get('/v2/hello', (_req, res) => void res.send('The app answers v2 itself.'));
app.use(v1);
app.get('/about', (_req, res) => void res.send('A page without a version.'));

const server = createServer(app);
// Wrapped, so that the 101 has the headers. Without `ws: true`, which would add a second listener.
server.on('upgrade', lifecycle.upgrade(v1.upgrade));
server.on('close', lifecycle.close);
// What was counted in the last seconds is written before the process ends.
process.once('SIGTERM', () => server.close());
server.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1', () => {
  console.log('listening on', server.address());
});
