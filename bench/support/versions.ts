import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

// Debian installs nginx and haproxy in /usr/sbin, which is only in root's PATH.
process.env['PATH'] = `${process.env['PATH']}:/usr/sbin:/usr/local/sbin`;

/** The first version number that the program prints; undefined if it is not installed. */
export function programVersion(program: string, args: readonly string[]): string | undefined {
  const { error, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return error ? undefined : (/\d+\.\d+(\.\d+)?/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown');
}

export function packageVersion(name: string): string | undefined {
  try {
    const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
    const { version }: { version: string } = JSON.parse(readFileSync(file, 'utf8'));
    return version;
  } catch {
    return undefined;
  }
}
