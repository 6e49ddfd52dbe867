import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';

// The files of SQLite. The marks of calls are another file, which is tied to its place.
const suffixes = ['', '-wal', '-shm'];

/** Copies a ledger as it is now, also while it is open: so the files are after kill -9. */
export function copyLedger(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  for (const suffix of suffixes) {
    rmSync(to + suffix, { force: true });
    if (existsSync(from + suffix)) copyFileSync(from + suffix, to + suffix);
  }
}
