import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);
/** Far longer than any of these programs takes on a busy machine. */
const hangsAfterSeconds = 1_200;

export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

/** Returns what a program prints. Throws with its error output if it fails or exceeds the time limit. */
export async function outputOf(
  program: string,
  args: readonly string[],
  env = process.env,
  limitSeconds = hangsAfterSeconds,
): Promise<string> {
  try {
    const options = { env, maxBuffer: 64 * 1024 * 1024, timeout: limitSeconds * 1000 };
    const { stdout } = await execute(program, args, options);
    return stdout;
  } catch (error) {
    const timedOut = error instanceof Error && 'killed' in error && error.killed === true;
    const message = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    const reason = timedOut
      ? `stopped after its time limit of ${limitSeconds} s. ${message.slice(-500)}`.trim()
      : message;
    throw new Error(`${program} ${args.join(' ')}: ${reason}`);
  }
}

/** Returns whether the program exits with 0. */
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

/** Rejects after the limit. The work itself continues. */
export async function withTimeout<T>(limitSeconds: number, what: string, work: Promise<T>): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => limit.reject(new Error(`${what} exceeded its time limit of ${limitSeconds} s`)),
    limitSeconds * 1000,
  );
  return Promise.race([work, limit.promise]).finally(() => clearTimeout(timer));
}
