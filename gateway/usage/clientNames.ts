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
import { reasonOf } from '../config/fault.ts';
import { digestOf, digestOfFailure } from '../config/namedFiles.ts';
import { parseNames, withName } from '../config/names.ts';
import { type Watch, watchFile } from '../config/watch.ts';
import { readRegularFile } from '../shared/fileSystem.ts';

/** What people call the clients of the ledger, from the file that `usage.names` tells of; read again when it changes. */
export class ClientNames {
  /** Why the file could not be read the last time, in one line; then the names from before still count. */
  problem: string | undefined;
  #file: string | undefined;
  #names: ReadonlyMap<string, string> = new Map();
  #watch: Watch | undefined;
  #digest: string | undefined;

  /** Reads `file`, undefined where there is none, in place of the one before, and follows its changes. Never throws. */
  follow(file: string | undefined): void {
    if (this.#file === file) return;
    this.close();
    this.read(file);
    if (file !== undefined) this.#watch = watchFile(file, () => this.read(file), { lastRead: this.#digest });
  }

  /** Reads `file` once. */
  read(file: string | undefined): void {
    this.#file = file;
    const names = file === undefined ? new Map<string, string>() : this.#namesIn(file);
    this.problem = typeof names === 'string' ? `${file} ${names}.` : undefined;
    if (typeof names !== 'string') this.#names = names;
  }

  nameOf(client: string): string | undefined {
    return this.#names.get(client);
  }

  close(): void {
    this.#watch?.close();
    this.#watch = undefined;
  }

  #namesIn(file: string): ReadonlyMap<string, string> | string {
    try {
      const bytes = readRegularFile(file);
      this.#digest = digestOf(bytes);
      return parseNames(bytes.toString('utf8'));
    } catch (error) {
      this.#digest = digestOfFailure(error);
      return `cannot be read: ${reasonOf(error)}`;
    }
  }
}

/** What became of a name. */
export type Naming =
  | { readonly kind: 'saved' }
  /** Somebody else has named the client meanwhile; '' for a name that was removed. */
  | { readonly kind: 'conflict'; readonly name: string }
  /** The file cannot be edited, for this reason. */
  | { readonly kind: 'refused'; readonly reason: string };

// An editor that saves at the same moment is done by the next attempt.
const attempts = 5;

/**
 * Writes another name for `client` into a file of names; '' removes the name. `was` is the name that the operator saw,
 * '' for none. Throws what the system says where the file cannot be read or written.
 */
export function nameClient(file: string, client: string, name: string, was: string): Naming {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const bytes = readRegularFile(file);
    const text = bytes.toString('utf8');
    if (!Buffer.from(text).equals(bytes)) return { kind: 'refused', reason: 'it is not UTF-8' };
    const names = parseNames(text);
    if (typeof names === 'string') return { kind: 'refused', reason: `it ${names}` };
    const current = names.get(client) ?? '';
    if (current === name) return { kind: 'saved' };
    if (current !== was) return { kind: 'conflict', name: current };
    const edited = withName(text, client, name);
    if (edited === undefined) return { kind: 'refused', reason: 'its structure does not allow it' };
    if (replaceFile(file, bytes, Buffer.from(edited))) return { kind: 'saved' };
  }
  return { kind: 'refused', reason: 'something else keeps changing it' };
}

/** False if the file is not `before` any more. Its mode, owner and links stay. */
function replaceFile(file: string, before: Buffer, after: Buffer): boolean {
  const target = realpathSync(file);
  const { mode, nlink, uid, gid } = statSync(target);
  // A new file would be ours, and no other link would lead to it.
  const isOurs = nlink === 1 && uid === process.geteuid?.() && gid === process.getegid?.();
  return (isOurs ? byRename(target, before, after, mode & 0o7777) : undefined) ?? inPlace(target, before, after);
}

/** Readers see the old file or the new one. Undefined where the folder does not allow it: it is read-only, or the file is a bind mount. */
function byRename(target: string, before: Buffer, after: Buffer, mode: number): boolean | undefined {
  const temporary = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
  try {
    writeFileSync(temporary, after, { flag: 'wx', mode, flush: true });
    chmodSync(temporary, mode);
    const isUnchanged = readRegularFile(target).equals(before);
    if (isUnchanged) renameSync(temporary, target);
    return isUnchanged;
  } catch (error) {
    if (error instanceof Error && 'code' in error && mountCodes.has(String(error.code))) return undefined;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

const mountCodes = new Set(['EACCES', 'EPERM', 'EROFS', 'EBUSY', 'EXDEV']);

function inPlace(target: string, before: Buffer, after: Buffer): boolean {
  const file = openSync(target, 'r+');
  try {
    if (!readRegularFile(target).equals(before)) return false;
    try {
      writeAll(file, after);
    } catch (error) {
      // A disk that is full: the names of before need no more room than they had.
      writeAll(file, before);
      throw error;
    }
    return true;
  } finally {
    closeSync(file);
  }
}

function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at);
  ftruncateSync(file, bytes.length);
  fsyncSync(file);
}
