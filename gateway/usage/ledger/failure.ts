import { UnsuitableFileError } from '../../shared/fileSystem.ts';
import { messageOf } from '../../shared/text.ts';

/** A failed operation on the ledger file. */
export interface LedgerFailure {
  /** For people, without the file's name. */
  readonly reason: string;
  /** True if the file is unusable and has to be replaced. */
  readonly isCorrupt: boolean;
}

// The primary result codes of https://www.sqlite.org/rescode.html that the state of a file can cause.
const sqliteReasons = new Map<number, string>([
  [3, 'the permissions do not allow it'],
  [5, 'another process has locked it'],
  [6, 'another process has locked it'],
  [8, 'the permissions only allow reading it'],
  [10, 'the disk reports an error'],
  [11, 'its content is damaged'],
  [13, 'the disk is full'],
  [14, 'it cannot be opened'],
  [26, 'it is not a ledger'],
]);

const systemReasons: Readonly<Record<string, string>> = {
  ENOENT: 'its folder cannot be created',
  ENOSPC: 'the disk is full',
  EROFS: 'the disk is read-only',
  EACCES: 'the permissions do not allow it',
  EPERM: 'the permissions do not allow it',
  ENOTDIR: 'a part of its path is not a folder',
  EEXIST: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
};

/** Another program damaged the file while it was open. The message is the reason, without the file's name. */
export class DamagedFileError extends Error {
  override readonly name = 'DamagedFileError';
}

export function ledgerFailure(error: unknown): LedgerFailure {
  if (error instanceof DamagedFileError) return { reason: error.message, isCorrupt: true };
  const primary = primaryCode(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const message = messageOf(error);
  const fallback = error instanceof UnsuitableFileError ? `it ${message}` : message;
  // mkdir reports it for a file in the place of a folder.
  const isInTheWay = code === 'EEXIST' && (error as NodeJS.ErrnoException).syscall === 'open';
  const systemReason = isInTheWay ? 'there is such a file already' : systemReasons[code];
  const reason = sqliteReasons.get(primary ?? 0) ?? systemReason ?? fallback;
  return { reason, isCorrupt: primary === 11 || primary === 26 };
}

/** The lowest byte of an extended result code of SQLite; undefined: another error. */
export function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}
