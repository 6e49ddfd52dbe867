import type { Documents } from '../compat/document/documents.ts';
import { openContract } from '../compat/document/open.ts';
import { faultsOf } from '../compat/document/validate.ts';
import { CompareError } from '../compat/failure.ts';
import type { CompatOptions } from './compat.ts';
import type { Progress } from './compatProgress.ts';
import type { Io } from './io.ts';

/** Reads a contract, and looks whether it is in order if that is wanted. @throws CompareError */
export async function openForCompat(
  reference: string,
  { allowRemote, validate }: Pick<CompatOptions, 'allowRemote' | 'validate'>,
  io: Io,
  progress: Progress,
  cwd = io.cwd,
): Promise<Documents> {
  progress.tell(`reading ${reference}`);
  const stdin = io.stdin ?? (() => '');
  const documents = await openContract(reference, { cwd, stdin, allowRemote });
  if (!validate) return documents;
  const faults = faultsOf(documents);
  if (faults.length === 0) return documents;
  const lines = faults.map(({ where, message, remedy }) => `  ${where}: ${message}.  ${remedy}`);
  const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
  throw new CompareError(reference, `the contract is not in order: ${count}`, `Correct it.\n${lines.join('\n')}`);
}
