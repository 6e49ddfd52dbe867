import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

export interface Running {
  readonly child: ChildProcess;
  /** Everything that the program has printed so far. */
  readonly output: () => string;
  /** Waits until `pattern` is printed; fails with the whole output if the process ends first. */
  readonly printed: (pattern: RegExp) => Promise<RegExpExecArray>;
}

/**
 * Starts a program of this project. Ends it and its child processes at the end of the test.
 * @param test needed by tests that run at the same time, or that share the program
 */
export function run(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
  test: { onTestFinished(close: () => Promise<void>): void } = { onTestFinished },
): Running {
  // In its own process group, so that its child processes are ended with it.
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout?.on('data', (chunk) => {
    text += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    text += chunk;
  });
  test.onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const ended = once(child, 'exit');
    process.kill(-child.pid, 'SIGTERM');
    await ended;
  });
  const printed = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(text);
      if (match) return match;
      if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}:\n${text}`);
      const listening = new AbortController();
      const { signal } = listening;
      await Promise.race([
        once(child.stdout ?? child, 'data', { signal }),
        once(child.stderr ?? child, 'data', { signal }),
        once(child, 'exit', { signal }),
      ]).finally(() => listening.abort());
    }
  };
  return { child, output: () => text, printed };
}
