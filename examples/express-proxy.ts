// An Express app with its own proxy. The middleware adds the deprecation headers of each version, and counts usage.
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
// Must come before every route whose path begins with a version.
app.use(lifecycle);
app.get('/v2/hello', (_req, res) => void res.send('The app answers v2 itself.'));
app.use(v1);
app.get('/about', (_req, res) => void res.send('A page without a version.'));

const server = createServer(app);
// Adds the headers to the 101 response. Do not set `ws: true` on the proxy: it would add a second listener.
server.on('upgrade', lifecycle.upgrade(v1.upgrade));
server.on('close', lifecycle.close);
// Closing the server writes the usage counts of the last seconds.
process.once('SIGTERM', () => server.close());
server.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1', () => {
  console.log('listening on', server.address());
});
