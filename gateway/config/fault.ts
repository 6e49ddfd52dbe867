import { UnsuitableFileError } from '../shared/fileSystem.ts';

/** Something in a routes.yaml that has to be changed before the file can be served, or, as a warning, that ought to be. */
export interface Fault {
  /** The file as its reader named it; undefined for a document given as an object. */
  readonly file: string | undefined;
  /** From 1; undefined where there is no text. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** `routes./v1.sunset`; empty for the document as a whole. */
  readonly path: string;
  /** What stands there, with secrets masked; undefined for a map, a list or a missing key. */
  readonly value: string | undefined;
  readonly message: string;
  readonly remedy: string;
}

/** A file that cannot be served. It holds every fault of the file, in the order of the lines. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(formatFault).join('\n'));
    this.faults = faults;
  }
}

/** The file is missing or cannot be read: nothing can be said about what is in it. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError';
  readonly file: string;

  constructor(file: string, cause: unknown) {
    const remedy = cause instanceof UnsuitableFileError ? `.  ${cause.remedy.replace(/\.$/, '')}` : '';
    super(`${file} cannot be read: ${reasonOf(cause)}${remedy}`, { cause });
    this.file = file;
  }
}

/** `routes.yaml:7:13  routes./v1.sunset`, and what is wrong on a second line. */
export function formatFault(fault: Fault): string {
  const place = [fault.file, fault.line, fault.column].filter((part) => part !== undefined).join(':');
  const head = [place, fault.path].filter((part) => part !== '').join('  ');
  return `${head === '' ? 'configuration' : head}\n  ${fault.message}  ${fault.remedy}`;
}

/** The order of the lines; faults without a place keep their order, behind the others. */
export function byPlace(a: Fault, b: Fault): number {
  if (a.line === undefined || b.line === undefined) return Number(a.line === undefined) - Number(b.line === undefined);
  return a.line - b.line || (a.column ?? 0) - (b.column ?? 0);
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'the permissions do not allow it',
  EPERM: 'the permissions do not allow it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  ELOOP: 'it is a link to itself',
};

/** Why a file cannot be read or written, in words. */
export function reasonOf(error: unknown): string {
  if (error instanceof UnsuitableFileError) return `it ${error.message}`;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error';
  return reasons[code] ?? code;
}
