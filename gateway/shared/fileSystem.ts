import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const mebibyte = 1024 * 1024;

/** The largest routes.yaml, certificate, file of names and the like. */
export const largestFileBytes = 8 * mebibyte;
/** The largest OpenAPI document: several times the size of the largest published ones. */
export const largestContractBytes = 64 * mebibyte;

// Without O_NONBLOCK, opening a named pipe waits for a writer. Windows has neither the flag nor such files.
const readOnly = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The file is not a regular file, or too large. The message begins with a verb: "is a socket, not a file". */
export class UnsuitableFileError extends Error {
  override readonly name = 'UnsuitableFileError';
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/**
 * Reads a regular file, following symbolic links. Never blocks on a pipe or a device.
 * @throws UnsuitableFileError, or a system error
 */
export function readRegularFile(path: string, maxBytes = largestFileBytes): Buffer {
  // Checked before opening, because opening a pipe or a device may have side effects.
  assertSuitable(statSync(path), maxBytes);
  const file = openSync(path, readOnly);
  try {
    const stats = fstatSync(file);
    assertSuitable(stats, maxBytes);
    // Reads to the end of the file, not to its size: files in /proc have size 0, and a file may grow during the read.
    let bytes = Buffer.allocUnsafe(Math.max(stats.size, 4096) + 1);
    let length = 0;
    for (;;) {
      const bytesRead = readSync(file, bytes, length, bytes.length - length, null);
      if (bytesRead === 0) return bytes.subarray(0, length);
      length += bytesRead;
      if (length > maxBytes) throw tooLarge(length, maxBytes);
      if (length === bytes.length) bytes = Buffer.concat([bytes, Buffer.allocUnsafe(bytes.length)]);
    }
  } finally {
    closeSync(file);
  }
}

/**
 * Reads a regular file in pieces, so that neither reading nor using a large one blocks the event loop.
 * @throws UnsuitableFileError, or a system error
 */
export async function* piecesOfRegularFile(path: string, maxBytes = largestFileBytes): AsyncGenerator<Buffer, void> {
  assertSuitable(await stat(path), maxBytes);
  const file = await open(path, readOnly);
  try {
    assertSuitable(await file.stat(), maxBytes);
    const piece = Buffer.allocUnsafe(256 * 1024);
    for (let length = 0; ; ) {
      const { bytesRead } = await file.read(piece, 0, piece.length, null);
      if (bytesRead === 0) return;
      length += bytesRead;
      if (length > maxBytes) throw tooLarge(length, maxBytes);
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** @throws UnsuitableFileError */
export function assertSuitable(stats: Stats, maxBytes = Number.POSITIVE_INFINITY): void {
  if (!stats.isFile()) throw new UnsuitableFileError(`is ${kindOf(stats)}, not a file`, 'Name a regular file.');
  if (stats.size > maxBytes) throw tooLarge(stats.size, maxBytes);
}

function tooLarge(bytes: number, maxBytes: number): UnsuitableFileError {
  const [size, most] = [bytes, maxBytes].map((byteCount) => `${(byteCount / mebibyte).toFixed(1)} MiB`);
  return new UnsuitableFileError(`is ${size} long, but at most ${most} are read`, 'Name a smaller file.');
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a folder';
  if (stats.isFIFO()) return 'a pipe';
  return stats.isSocket() ? 'a socket' : 'a device';
}

/**
 * Makes a folder and its parents. Does not use `recursive` of mkdir, because that loops forever if a file system answers ENOENT
 * within an existing folder, as /proc does. @throws system errors
 */
export function makeFolder(folder: string): void {
  if (isFolder(folder)) return;
  const above = dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
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
