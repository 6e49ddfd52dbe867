import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProxyDefinition } from './definition.ts';

const server = fileURLToPath(new URL('./nodeRelay.server.ts', import.meta.url));

/** About the least that a proxy on Node can cost. */
export const nodeRelay: ProxyDefinition = {
  name: 'relay on node:net',
  version: `Node ${process.version}`,
  command: ({ port, backendPort, certificate }) => ({
    program: process.execPath,
    args: [server, String(port), String(backendPort), ...(certificate ? [certificate.cert, certificate.key] : [])],
    // Without it, each start would load the TypeScript parser, and its memory would be taken for that of the relay.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'version-gateway-bench-compile-cache') },
  }),
};
