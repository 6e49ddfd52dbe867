import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bundle } from '../../tools/bundle.ts';

declare module 'vitest' {
  interface ProvidedContext {
    builtGateway: string;
  }
}

/** Runs before all tests. Builds the gateway for the tests that start it as a process of its own. */
export async function setup({ provide }: TestProject): Promise<() => void> {
  // Below node_modules, where its packages are found.
  const cache = resolve('node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'version-gateway-'));
  // Some tests start the gateway as another user.
  chmodSync(folder, 0o755);
  copyFileSync('package.json', join(folder, 'package.json'));
  cpSync('bin', join(folder, 'bin'), { recursive: true });
  await bundle(join(folder, 'dist'));
  provide('builtGateway', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
