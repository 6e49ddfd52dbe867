import { realpathSync } from 'node:fs';
import { UnreadableFileError } from '../../../config/fault.ts';
import { CompareError } from '../../../contract/failure.ts';
import { workingTreeOf } from '../../../contract/source/git.ts';
import type { WorkingTree } from '../../../contracts/compat/report/words.ts';
import { safeText } from '../../../shared/text.ts';
import { UsageError } from '../io.ts';

/** The Git working tree of a folder. Git prints paths with symbolic links resolved, so the folder is resolved too. */
export function workingTreeAt(folder: string): WorkingTree {
  const real = realpathSync(folder);
  return { root: workingTreeOf(real) ?? real, folder: real };
}

/** Why the comparison failed. The text may quote names and keys of the contracts, so control characters are escaped. */
export function failureInWords(error: unknown): string {
  const isExplained =
    error instanceof CompareError || error instanceof UsageError || error instanceof UnreadableFileError;
  // A defect is printed here, too. If it were thrown, Node would exit with code 1, which means that the change is not allowed.
  const text = isExplained ? error.message : `This is a defect of version-gateway.\n${stackOf(error)}`;
  return text
    .split('\n')
    .map((line) => safeText(line, 1000))
    .join('\n');
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
