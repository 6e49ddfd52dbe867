import type { Writable } from 'node:stream';
import type { Command } from 'commander';

/** The streams, the environment and the working directory of a command. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: NodeJS.ProcessEnv;
  /** Relative paths are resolved from here. */
  readonly cwd: string;
  /** Reads standard input to its end. */
  readonly stdin?: () => Promise<string>;
  readonly stdinIsTTY?: boolean;
}

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  /** Width of the terminal. */
  readonly columns?: number;
}

/**
 * 0: success, or a yes with evidence. 1: the check found a problem, the answer is no, clients would lose requests, or the gateway is
 * not ready, did not start or did not stop. 2: an invalid command line, an unreadable file, or a gateway that does not answer. 3: the
 * answer is not known, because facts are missing.
 */
export type ExitCode = 0 | 1 | 2 | 3;

/** Adds a command to the program. Its action calls `finish` with the exit code, or throws. */
export type AddCommand = (program: Command, io: Io, finish: (code: ExitCode) => void) => void;

/** The arguments or their input cannot be used. The message is printed as it is; the exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * Ignores EPIPE, as after `| head`: the rest of the output is discarded and the command ends with its own exit code.
 * Any other stream error is thrown.
 */
export function ignoreClosedPipes(...outputs: readonly Writable[]): void {
  for (const output of outputs) {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}
