import type { Command } from 'commander';
import type { ExitCode, Io } from './io.ts';

/** Puts a command into the program; its action ends with `finish`, or throws. */
export type AddCommand = (program: Command, io: Io, finish: (code: ExitCode) => void) => void;
