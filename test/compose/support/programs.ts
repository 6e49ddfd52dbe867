import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

/** What a program prints; its own words when it fails. */
export async function outputOf(program: string, args: readonly string[], env = process.env): Promise<string> {
  try {
    const { stdout } = await execute(program, args, { env, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new Error(`${program} ${args.join(' ')}: ${said}`);
  }
}

/** The same for a question that may be answered with a failure. */
export async function succeeds(program: string, args: readonly string[], env = process.env): Promise<boolean> {
  return outputOf(program, args, env).then(
    () => true,
    () => false,
  );
}
