// The gateway inside an Express app with its own routes.
import { createServer } from 'node:http';
import express from 'express';
// In your own project: from 'version-gateway'.
import { createVersionGateway } from '../gateway/index.ts';

const gateway = createVersionGateway(process.env['ROUTES'] ?? 'config/routes.yaml', {
  reload: true,
  notice: console.log,
});

const app = express();
// Must come before all middleware that reads bodies: the gateway streams them to the backend.
app.use(gateway);
app.use(express.json());
app.get('/about', (_req, res) => res.send('The app’s own page. The gateway answers versions only.'));

const server = createServer(app);
server.on('upgrade', gateway.upgrade);
server.on('close', gateway.close);
// Closing the server writes the usage counts of the last seconds.
process.once('SIGTERM', () => server.close());
server.listen(Number(process.env['PORT'] ?? 8080), '127.0.0.1', () => {
  console.log('listening on', server.address());
});
