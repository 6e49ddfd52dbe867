import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProxyDefinition } from './definition.ts';

const server = fileURLToPath(new URL('./nodeRelay.server.ts', import.meta.url));

/** A relay that checks nothing, limits nothing and handles no errors. No proxy on node:net can cost much less. */
export const nodeRelay: ProxyDefinition = {
  name: 'relay on node:net',
  version: `Node ${process.version}`,
  command: ({ port, backendPort, certificate }) => ({
    program: process.execPath,
    args: [server, String(port), String(backendPort), ...(certificate ? [certificate.cert, certificate.key] : [])],
    // Without the cache, each start would load the TypeScript parser, whose memory would count as memory of the relay.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'version-gateway-bench-compile-cache') },
  }),
};
