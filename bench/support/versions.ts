import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

// nginx and haproxy are daemons: Debian keeps them where only root's PATH looks.
process.env['PATH'] = `${process.env['PATH']}:/usr/sbin:/usr/local/sbin`;

/** The first thing in the program's own words that looks like a version; undefined if it is not installed. */
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
