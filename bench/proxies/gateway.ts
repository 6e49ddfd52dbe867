import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from '../support/children.ts';
import { dates } from '../support/workload.ts';
import type { ProxyDefinition } from './definition.ts';

const launcher = fileURLToPath(new URL('../../bin/version-gateway.js', import.meta.url));

export const gateway: ProxyDefinition = {
  name: 'version-gateway',
  version: 'this checkout',
  required: true,
  command: ({ port, backendPort, folder, certificate, accessLog }) => {
    const tls = certificate ? `gateway: { tls: { cert: ${certificate.cert}, key: ${certificate.key} } }\n` : '';
    return gatewayCommand({ port, folder, routes: `${twoRoutes(`http://127.0.0.1:${backendPort}`, accessLog)}${tls}` });
  },
};

/** The built package, as users install it. `npm run build` writes the package. */
export const builtGateway: ProxyDefinition = {
  ...gateway,
  name: 'version-gateway',
  command: (options) => {
    const { program, args } = gateway.command(options);
    const [, ...afterLauncher] = args;
    return { program, args: [fileURLToPath(new URL('../../dist/main.js', import.meta.url)), ...afterLauncher] };
  },
};

/** The same as `gateway`, under a name that differs from that of the built package. */
export const gatewayFromSources: ProxyDefinition = { ...gateway, name: 'version-gateway, from sources' };

export const gatewayWithoutFastLane: ProxyDefinition = {
  ...gateway,
  name: 'version-gateway, fast_lane: off',
  command: ({ port, backendPort, folder }) => {
    const routes = `${twoRoutes(`http://127.0.0.1:${backendPort}`)}gateway: { fast_lane: off }\n`;
    return gatewayCommand({ port, folder, routes });
  },
};

export const gatewayWithH2c: ProxyDefinition = {
  ...gateway,
  name: 'version-gateway',
  command: ({ port, backendPort, folder }) => {
    const routes = `${twoRoutes(`http://127.0.0.1:${backendPort}`)}gateway: { h2c: on }\n`;
    return gatewayCommand({ port, folder, routes });
  },
};

/** Starts the gateway with `routes` as its routes.yaml, and the admin listener on a free port. */
export function gatewayCommand({ port, folder, routes }: { port: number; folder: string; routes: string }): Command {
  const file = join(folder, 'routes.yaml');
  writeFileSync(file, routes);
  const listeners = ['--listen', `127.0.0.1:${port}`, '--admin', '127.0.0.1:0'];
  return { program: process.execPath, args: [launcher, 'start', '--config', file, ...listeners] };
}

/** The routes.yaml of the workload. */
export function twoRoutes(upstream: string, accessLog = 'off'): string {
  return `routes:
  /v1:
    upstream: ${upstream}
    deprecation: ${dates.deprecation}
    sunset: ${dates.sunset}
  /v2: ${upstream}
log: { access: ${accessLog} }
`;
}
