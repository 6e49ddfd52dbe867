import { fileURLToPath } from 'node:url';
import { packageVersion } from '../support/versions.ts';
import type { Contender } from './contender.ts';

const server = fileURLToPath(new URL('./httpProxyMiddleware.server.ts', import.meta.url));

export const httpProxyMiddleware: Contender = {
  name: 'http-proxy-middleware on Express',
  version: packageVersion('http-proxy-middleware'),
  command: ({ port, backendPort }) => ({
    program: process.execPath,
    args: [server, String(port), String(backendPort)],
  }),
};
