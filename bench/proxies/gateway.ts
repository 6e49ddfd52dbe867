import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from '../support/children.ts';
import { dates } from '../support/work.ts';
import type { Contender } from './contender.ts';

const main = fileURLToPath(new URL('../../gateway/main.ts', import.meta.url));

export const gateway: Contender = {
  name: 'version-gateway',
  version: 'this checkout',
  required: true,
  command: ({ port, backendPort, folder }) =>
    gatewayCommand({ port, folder, routes: twoRoutes(`http://127.0.0.1:${backendPort}`) }),
};

/** The gateway with `routes` as its whole file; its admin listener takes any port. */
export function gatewayCommand(start: { port: number; folder: string; routes: string }): Command {
  const file = join(start.folder, 'routes.yaml');
  writeFileSync(file, start.routes);
  const listeners = ['--listen', `127.0.0.1:${start.port}`, '--admin', '127.0.0.1:0'];
  return { program: process.execPath, args: [main, 'start', '--config', file, ...listeners] };
}

function twoRoutes(upstream: string): string {
  return `routes:
  /v1:
    upstream: ${upstream}
    deprecation: ${dates.deprecation}
    sunset: ${dates.sunset}
  /v2: ${upstream}
log: { access: off }
`;
}
