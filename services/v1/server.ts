import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApp } from './app.ts';

// `||` instead of `??`: Compose passes an unset variable as an empty string.
const port = Number(process.env['PORT'] || 3001);
const host = process.env['HOST'] || '127.0.0.1';
// Open requests have this time to finish after a stop signal.
const stopTimeoutMs = 10_000;

const server = createServer(createApp());

server.on('error', (error) => {
  console.error(`cocktails v1 cannot serve: ${error.message}`);
  process.exitCode = 1;
});

server.listen(port, host, () => {
  // Port 0 lets the system choose, so the line names the port it chose.
  const { port: actualPort } = server.address() as AddressInfo;
  console.log(`cocktails v1 is listening on http://${host.includes(':') ? `[${host}]` : host}:${actualPort}`);
});

// `once`: a second signal has no handler, so it ends the process immediately.
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop);

function stop(): void {
  server.close();
  setTimeout(() => server.closeAllConnections(), stopTimeoutMs).unref();
}
