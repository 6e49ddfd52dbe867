import { addCheck } from './check.ts';
import type { AddCommand } from './command.ts';
import { addStart } from './start.ts';
import { addStatus } from './status.ts';

/** In the order of `--help`. */
export const commands: readonly AddCommand[] = [addStart, addCheck, addStatus];
