import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseNames, withName } from '../config/names.ts';
import { readRegularFile, reasonOf, UnsuitableFileError } from '../shared/fileSystem.ts';

/** The names that operators gave to clients, from the file `usage.names`. */
export class ClientNames {
  /** Why the last read of the file failed, in one line; the previous names stay. Undefined: it succeeded. */
  problem: string | undefined;
  #names: ReadonlyMap<string, string> = new Map();

  /** Reads `file`, or clears the names if there is none. Never throws. */
  read(file: string | undefined): void {
    const namesOrReason = file === undefined ? new Map<string, string>() : readNames(file);
    this.problem = typeof namesOrReason === 'string' ? `${file} ${namesOrReason}.` : undefined;
    if (typeof namesOrReason !== 'string') this.#names = namesOrReason;
  }

  nameOf(client: string): string | undefined {
    return this.#names.get(client);
  }
}

/** @returns the names, or the reason why there are none */
function readNames(file: string): ReadonlyMap<string, string> | string {
  try {
    return parseNames(readRegularFile(file).toString('utf8'));
  } catch (error) {
    return `cannot be read: ${reasonOf(error)}`;
  }
}

/** The result of `nameClient`. */
export type NamingResult =
  | { readonly kind: 'saved' }
  /** The client's name is no longer the one that the operator saw. `name`: the current one, '' for none. */
  | { readonly kind: 'conflict'; readonly name: string }
  /** The file cannot be edited. */
  | { readonly kind: 'refused'; readonly reason: string };

// An editor that saves at the same moment has finished by the next attempt.
const maxAttempts = 5;

/**
 * Changes the name of `client` in a file of names; '' removes it. `was` is the name that the operator saw, '' for none.
 * Throws the system's error if the file cannot be read or written.
 */
export function nameClient(file: string, client: string, name: string, was: string): NamingResult {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const bytes = readRegularFile(file);
    const text = bytes.toString('utf8');
    if (!Buffer.from(text).equals(bytes)) return { kind: 'refused', reason: 'it is not UTF-8' };
    const namesOrReason = parseNames(text);
    if (typeof namesOrReason === 'string') return { kind: 'refused', reason: `it ${namesOrReason}` };
    const current = namesOrReason.get(client) ?? '';
    if (current === name) return { kind: 'saved' };
    if (current !== was) return { kind: 'conflict', name: current };
    const edited = withName(text, client, name);
    if (edited === undefined) return { kind: 'refused', reason: 'its structure does not allow it' };
    if (replaceFile(file, bytes, Buffer.from(edited))) return { kind: 'saved' };
  }
  return { kind: 'refused', reason: 'another program keeps changing it' };
}

/** Replaces the content of a file, and keeps its mode, owner and links. @returns false if the content is no longer `before` */
function replaceFile(file: string, before: Buffer, after: Buffer): boolean {
  const target = realpathSync(file);
  const { mode, nlink, uid, gid } = statSync(target);
  // A rename would change the owner to this process, and separate the file from its other hard links.
  const mayRename = nlink === 1 && uid === process.geteuid?.() && gid === process.getegid?.();
  const replaced = mayRename ? replaceByRename(target, before, after, mode & 0o7777) : undefined;
  return replaced ?? overwrite(target, before, after);
}

/** Readers see either the old or the new content. Undefined if no rename is possible: a read-only folder or a bind mount. */
function replaceByRename(target: string, before: Buffer, after: Buffer, mode: number): boolean | undefined {
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
  try {
    writeFileSync(temporary, after, { flag: 'wx', mode, flush: true });
    chmodSync(temporary, mode);
    const isUnchanged = readRegularFile(target).equals(before);
    if (isUnchanged) renameSync(temporary, target);
    return isUnchanged;
  } catch (error) {
    if (error instanceof Error && 'code' in error && refusedRenameCodes.has(String(error.code))) return undefined;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

const refusedRenameCodes = new Set(['EACCES', 'EPERM', 'EROFS', 'EBUSY', 'EXDEV']);

/** Readers may see a part of the new content. @returns false if the content is no longer `before` */
function overwrite(target: string, before: Buffer, after: Buffer): boolean {
  const descriptor = openSync(target, 'r+');
  try {
    if (!readRegularFile(target).equals(before)) return false;
    try {
      writeAll(descriptor, after);
    } catch (error) {
      // The disk may be full. The previous content still fits, because its space is in use by the file.
      try {
        writeAll(descriptor, before);
      } catch {
        if (!readRegularFile(target).equals(before))
          throw new UnsuitableFileError(
            `may now have only a part of the edit, because ${reasonOf(error)}`,
            'Restore it from a backup.',
          );
      }
      throw error;
    }
    return true;
  } finally {
    closeSync(descriptor);
  }
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at, bytes.length - at, at);
  ftruncateSync(descriptor, bytes.length);
  fsyncSync(descriptor);
}
