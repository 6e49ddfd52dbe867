import type { Command } from 'commander';
import { addCheck } from './check.ts';
import type { ExitCode, Io } from './io.ts';
import { addStart } from './start.ts';

/** Puts a command into the program; its action ends with `finish`, or throws. */
export type AddCommand = (program: Command, io: Io, finish: (code: ExitCode) => void) => void;

/** In the order of `--help`. */
export const commands: readonly AddCommand[] = [addStart, addCheck];
