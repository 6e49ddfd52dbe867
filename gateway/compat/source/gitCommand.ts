import { spawnSync } from 'node:child_process';
import { Refusal } from './refusal.ts';

export interface GitAnswer {
  readonly out: Buffer;
  /** What git complains of, on one line; undefined if it did as it was told. */
  readonly complaint: string | undefined;
}

// A partial clone fetches what it lacks.
const timeoutMs = 60_000;

/**
 * Runs git, without a shell. Whatever a user has typed belongs into `input`, where nothing is taken for an option.
 * @throws Refusal if git cannot be run at all
 */
export function git(args: readonly string[], cwd: string, input = '', maxBuffer = 10_000_000): GitAnswer {
  const env = { ...process.env, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' };
  const { error, status, stdout, stderr } = spawnSync('git', [...args], {
    cwd,
    input,
    env,
    maxBuffer,
    timeout: timeoutMs,
  });
  if (error && 'code' in error && error.code === 'ENOENT') {
    throw new Refusal('is to be read from git, which is not installed', 'Install git, or name a file.');
  }
  if (error) throw new Refusal(`cannot be read from git: ${error.message}`, 'Try again.');
  const complaint =
    stderr
      .toString('utf8')
      .trim()
      .split('\n')[0]
      ?.replace(/^fatal: /, '') || 'git failed';
  return { out: stdout, complaint: status === 0 ? undefined : complaint };
}
