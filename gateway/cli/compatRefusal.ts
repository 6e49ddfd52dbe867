import { CompareError } from '../compat/failure.ts';
import { shown } from '../compat/report/words.ts';
import { UnreadableFileError } from '../config/fault.ts';
import { UsageError } from './usageError.ts';

/** What stood in the way of a comparison. Names and keys in it may be anybody's. */
export function whyNotCompared(error: unknown): string {
  const isExplained =
    error instanceof CompareError || error instanceof UsageError || error instanceof UnreadableFileError;
  // Whatever else goes wrong must not look like a verdict, either.
  const text = isExplained ? error.message : `This is a defect of version-gateway.\n${stackOf(error)}`;
  return text
    .split('\n')
    .map((line) => shown(line, 1000))
    .join('\n');
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
