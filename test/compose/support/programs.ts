import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

/** What a program prints; its own words when it fails. Nothing may keep the tests waiting for ever. */
export async function outputOf(
  program: string,
  args: readonly string[],
  env = process.env,
  limitSeconds = 60,
): Promise<string> {
  try {
    const options = { env, maxBuffer: 64 * 1024 * 1024, timeout: limitSeconds * 1000 };
    const { stdout } = await execute(program, args, options);
    return stdout;
  } catch (error) {
    const isLate = error instanceof Error && 'killed' in error && error.killed === true;
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    const reason = isLate ? `stopped after ${limitSeconds} s, its time limit. ${said.slice(-500)}`.trim() : said;
    throw new Error(`${program} ${args.join(' ')}: ${reason}`);
  }
}

/** The same for a question that may be answered with a failure. */
export async function succeeds(
  program: string,
  args: readonly string[],
  env = process.env,
  limitSeconds = 60,
): Promise<boolean> {
  return outputOf(program, args, env, limitSeconds).then(
    () => true,
    () => false,
  );
}

/** Work that cannot be stopped is no longer waited for. */
export async function within<T>(limitSeconds: number, what: string, work: Promise<T>): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => limit.reject(new Error(`${what} took longer than ${limitSeconds} s, its time limit`)),
    limitSeconds * 1000,
  );
  return Promise.race([work, limit.promise]).finally(() => clearTimeout(timer));
}
