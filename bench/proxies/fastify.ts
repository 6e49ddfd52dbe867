import { fileURLToPath } from 'node:url';
import { packageVersion } from '../support/versions.ts';
import type { ProxyDefinition } from './definition.ts';

const server = fileURLToPath(new URL('./fastify.server.ts', import.meta.url));

export const fastify: ProxyDefinition = {
  name: '@fastify/http-proxy',
  version: packageVersion('@fastify/http-proxy'),
  command: ({ port, backendPort }) => ({
    program: process.execPath,
    args: [server, String(port), String(backendPort)],
  }),
};
