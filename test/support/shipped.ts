import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';

/** A copy of the shipped routes.yaml, with a ledger of its own beside it. */
export function shipped(): string {
  const folder = mkdtempSync(join(tmpdir(), 'shipped-'));
  onTestFinished(() => rmSync(folder, { recursive: true, maxRetries: 10 }));
  mkdirSync(join(folder, 'config'));
  copyFileSync('config/routes.yaml', join(folder, 'config', 'routes.yaml'));
  // Where the contracts are.
  symlinkSync(resolve('services'), join(folder, 'services'));
  return join(folder, 'config', 'routes.yaml');
}
