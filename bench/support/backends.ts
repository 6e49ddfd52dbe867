import { fileURLToPath } from 'node:url';
import { type Command, startServer, temporaryFolder } from './children.ts';
import { nginxCommand, nginxVersion } from './nginx.ts';
import { freePort } from './ports.ts';
import { body } from './workload.ts';

export const jsonBackendName = nginxVersion ? `nginx ${nginxVersion} \`return 200\`` : 'bench/support/jsonBackend.ts';

/** Starts the backend that answers every GET with the small JSON. Returns its port. */
export function startJsonBackend(): Promise<number> {
  return startOnFreePort((port) => (nginxVersion ? nginxBackend(port) : scriptCommand('jsonBackend.ts', port)));
}

/** Starts a backend that answers every request with the same list of `items` objects. Returns its port. */
export function startListBackend(items: number): Promise<number> {
  return startOnFreePort((port) => scriptCommand('jsonBackend.ts', port, String(items)));
}

/** Starts the backend for large bodies: it answers GET with 10 MiB, and POST once it has read the whole body. Returns its port. */
export function startBodiesBackend(): Promise<number> {
  return startOnFreePort((port) => scriptCommand('bodiesBackend.ts', port));
}

async function startOnFreePort(command: (port: number) => Command): Promise<number> {
  const port = await freePort();
  await startServer(command(port), port, 'onGeneratorCores');
  return port;
}

function nginxBackend(port: number): Command {
  return nginxCommand(
    temporaryFolder(),
    `server {
      listen 127.0.0.1:${port};
      keepalive_requests 1000000000;
      default_type application/json;
      location / { return 200 '${body}'; }
    }`,
  );
}

function scriptCommand(name: string, port: number, ...args: string[]): Command {
  return { program: process.execPath, args: [fileURLToPath(new URL(name, import.meta.url)), String(port), ...args] };
}
