import { UnsuitableFileError } from '../../shared/fileSystem.ts';

/** Why SQLite did not do something, in words, and what that means for the file. */
export interface LedgerFailure {
  readonly reason: string;
  /** The file is no use any more: it is put aside. */
  readonly corrupt: boolean;
}

// The primary result codes of https://www.sqlite.org/rescode.html that a file can bring about.
const reasons = new Map<number, string>([
  [3, 'the permissions do not allow it'],
  [5, 'another process holds it'],
  [6, 'another process holds it'],
  [8, 'the permissions allow only to read it'],
  [10, 'the disk reports an error'],
  [11, 'its content is damaged'],
  [13, 'the disk is full'],
  [14, 'it cannot be opened'],
  [26, 'it is no ledger'],
]);

const systemReasons: Readonly<Record<string, string>> = {
  ENOENT: 'its folder cannot be made there',
  ENOSPC: 'the disk is full',
  EROFS: 'the disk allows only to read',
  EACCES: 'the permissions do not allow it',
  EPERM: 'the permissions do not allow it',
  ENOTDIR: 'a part of its path is not a folder',
  EEXIST: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
};

/** The file was damaged by another program while it was open. The message says how, without naming the file. */
export class DamagedFileError extends Error {
  override readonly name = 'DamagedFileError';
}

export function failureOf(error: unknown): LedgerFailure {
  if (error instanceof DamagedFileError) return { reason: error.message, corrupt: true };
  const primary = primaryCode(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const message = error instanceof Error ? error.message : String(error);
  const said = error instanceof UnsuitableFileError ? `it ${message}` : message;
  const reason = reasons.get(primary ?? 0) ?? systemReasons[code] ?? said;
  return { reason, corrupt: primary === 11 || primary === 26 };
}

/** The lowest byte of an extended result code. */
function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}
