import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';

/** Copies the shipped routes.yaml, or an example, to a temporary folder, in which its ledger is then written. Returns the path of the copy. */
export function copyShippedRoutes(file = 'config/routes.yaml'): string {
  const folder = mkdtempSync(join(tmpdir(), 'shipped-'));
  onTestFinished(() => rmSync(folder, { recursive: true, maxRetries: 10 }));
  mkdirSync(join(folder, 'config'));
  copyFileSync(file, join(folder, 'config', 'routes.yaml'));
  // routes.yaml refers to the contracts in services/.
  symlinkSync(resolve('services'), join(folder, 'services'));
  return join(folder, 'config', 'routes.yaml');
}
