import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { temporaryFolder } from '../support/children.ts';
import type { ProxyDefinition } from './definition.ts';
import { twoRoutes } from './gateway.ts';

const source = fileURLToPath(new URL('./nodeLibraries.server.ts', import.meta.url));

/** Bundles nodeLibraries.server.ts into one file, as the build bundles the gateway. */
export async function buildNodeLibraries(): Promise<ProxyDefinition> {
  const folder = temporaryFolder();
  const file = join(folder, 'nodeLibraries.mjs');
  const treeshake = { moduleSideEffects: (id: string) => id === source };
  const build = await rolldown({ input: source, platform: 'node', treeshake });
  await build.write({ file, format: 'esm', comments: { jsdoc: false } });
  return {
    name: 'Node with the libraries of the gateway',
    version: `Node ${process.version}`,
    command: ({ port, backendPort }) => {
      const routes = join(folder, 'routes.yaml');
      writeFileSync(routes, twoRoutes(`http://127.0.0.1:${backendPort}`));
      return {
        program: process.execPath,
        args: [file, '--listen', String(port), '--config', routes],
        env: { NODE_COMPILE_CACHE: join(folder, 'compile-cache') },
      };
    },
  };
}
