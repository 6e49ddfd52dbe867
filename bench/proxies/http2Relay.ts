import { fileURLToPath } from 'node:url';
import type { ProxyDefinition } from './definition.ts';

const server = fileURLToPath(new URL('./http2Relay.server.ts', import.meta.url));

/** Accepts only HTTP/2. Its CPU time is about the least that a proxy on node:http2 can need. */
export const http2Relay: ProxyDefinition = {
  name: 'relay on node:http2',
  version: `Node ${process.version}`,
  command: ({ port, backendPort, certificate }) => ({
    program: process.execPath,
    args: [server, String(port), String(backendPort), ...(certificate ? [certificate.cert, certificate.key] : [])],
  }),
};
