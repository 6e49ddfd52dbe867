/** What a command may touch of the world. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: NodeJS.ProcessEnv;
  /** Where relative paths begin. */
  readonly cwd: string;
  /** All that comes in; for commands that take `-` for a file. */
  readonly stdin?: () => Promise<string>;
  /** Standard input is a terminal. */
  readonly stdinIsTTY?: boolean;
}

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  /** Of a terminal. */
  readonly columns?: number;
}

/** 0: fine. 1: what was checked is not fine. 2: wrong usage, a file that cannot be read, or nobody who answers. */
export type ExitCode = 0 | 1 | 2;
