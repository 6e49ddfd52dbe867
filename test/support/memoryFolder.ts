import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
const tmpfsType = 0x01021994;
// A run uses about a tenth of it.
const neededBytes = 4 * 2 ** 30;

/**
 * Runs before all tests. Puts their temporary folder into memory if the machine has a large tmpfs: SQLite and PostgreSQL
 * write many small files, which takes much CPU time on a disk. Elsewhere, the tests use the temporary folder of the system.
 */
export function setup(): (() => void) | undefined {
  if (process.env['TMPDIR'] !== undefined || !isLargeTmpfs()) return;
  const folder = mkdtempSync(join(memory, 'version-gateway-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  if (!canExecute(folder)) {
    remove();
    return;
  }
  // Like /tmp, because PostgreSQL runs as another user.
  chmodSync(folder, 0o1777);
  keepScreenshots(folder);
  process.env['TMPDIR'] = folder;
  return remove;
}

function isLargeTmpfs(): boolean {
  try {
    const { type, bavail, bsize } = statfsSync(memory);
    return type === tmpfsType && bavail * bsize >= neededBytes;
  } catch {
    return false;
  }
}

/** Whether programs in the folder run. Containers often mount /dev/shm with `noexec`. */
function canExecute(folder: string): boolean {
  const script = join(folder, 'script');
  writeFileSync(script, '#!/bin/sh\n', { mode: 0o755 });
  return spawnSync(script).status === 0;
}

/** The screenshots of the browser tests remain after the run, in the temporary folder of the system. */
function keepScreenshots(folder: string): void {
  const name = 'version-gateway-screenshots';
  mkdirSync(join(tmpdir(), name), { recursive: true });
  symlinkSync(join(tmpdir(), name), join(folder, name));
}
