// The gateway within an Express app that has routes of its own.
import { createServer } from 'node:http';
import express from 'express';
// In your own project: from 'version-gateway'.
import { createVersionGateway } from '../gateway/index.ts';

const gateway = createVersionGateway(process.env['ROUTES'] ?? 'config/routes.yaml', {
  reload: true,
  notice: console.log,
});

const app = express();
// Before anything that reads bodies: they are streamed to the backend as they come.
app.use(gateway);
app.use(express.json());
app.get('/about', (_req, res) => res.send('The app’s own page. The gateway answers versions only.'));

const server = createServer(app);
server.on('upgrade', gateway.upgrade);
server.on('close', gateway.close);
// What was counted in the last seconds is written before the process ends.
process.once('SIGTERM', () => server.close());
server.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1', () => {
  console.log('listening on', server.address());
});
