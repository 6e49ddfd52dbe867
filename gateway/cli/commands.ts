import { addCanRetire } from './canRetire.ts';
import { addCheck } from './check.ts';
import type { AddCommand } from './command.ts';
import { addStart } from './start.ts';
import { addStatus } from './status.ts';
import { addUsage } from './usage.ts';

/** In the order of `--help`. */
export const commands: readonly AddCommand[] = [addStart, addCheck, addStatus, addUsage, addCanRetire];
