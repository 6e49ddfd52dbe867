import { fileURLToPath } from 'node:url';
import { packageVersion } from '../support/versions.ts';
import type { ProxyDefinition } from './definition.ts';

const server = fileURLToPath(new URL('./httpProxyMiddleware.server.ts', import.meta.url));

export const httpProxyMiddleware: ProxyDefinition = {
  name: 'http-proxy-middleware',
  version: packageVersion('http-proxy-middleware'),
  command: ({ port, backendPort }) => ({
    program: process.execPath,
    args: [server, String(port), String(backendPort)],
  }),
};
