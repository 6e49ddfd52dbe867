import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { readRegularFile, reasonOf, UnsuitableFileError } from '../../shared/fileSystem.ts';
import { CompareError } from '../failure.ts';

/** A file of a contract, as its source identifies it. */
export interface SourceFile {
  /** The same for every name of one file. */
  readonly key: string;
  /** Where the file is, before links are followed. Relative `$ref`s in the file are resolved against this path. */
  readonly path: string;
}

/** Where the local files of a contract are stored: a folder or a git commit. */
export interface FileSource {
  /** Finds the file that `ref`, a `$ref` in the file at `from`, leads to. @throws SourceError */
  locate(ref: string, from: string): SourceFile;
  /** The name that messages use for the file at `path`. */
  nameOf(path: string): string;
  /** @throws SourceError */
  read(key: string): Uint8Array;
  /** Optional: loads several files at once that will probably be read soon. @throws SourceError */
  prefetch?(keys: readonly string[]): void;
}

/**
 * A file of a contract cannot be read. The message is a predicate without a subject ("is too large"): the caller knows
 * where the file was named, and puts that in front.
 */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** The file does not exist. Some callers expect that. `path`: where it would be on disk. */
export class MissingFileError extends SourceError {
  readonly path: string | undefined;

  constructor(message: string, remedy: string, path?: string) {
    super(message, remedy);
    this.path = path;
  }
}

/** Runs `read`, and adds `where` to a SourceError. @throws CompareError */
export function withPlaceInErrors<T>(where: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof SourceError ? new CompareError(where, error.message, error.remedy, error) : error;
  }
}

export function tooLarge(bytes: number, maxBytes: number): SourceError {
  const [size, most] = [bytes, maxBytes].map((count) => `${(count / 1024 / 1024).toFixed(1)} MiB`);
  return new SourceError(`is ${size} long, but at most ${most} are read`, 'Split it into several files.');
}

/**
 * Files on disk, limited to the git working tree of the contract. A contract outside of any working tree is limited to its
 * folder. Symbolic links are resolved before this check.
 */
export class DiskSource implements FileSource {
  /** The folder that contains every permitted file; a real path. */
  readonly #root: string;
  readonly #cwd: string;
  readonly #maxBytes: number;

  /** `folder` contains the contract. Messages name files relative to `cwd`. */
  constructor({ folder, cwd, maxBytes }: { readonly folder: string; readonly cwd: string; readonly maxBytes: number }) {
    const real = realpathSync(folder);
    this.#root = workingTreeOrSelf(real);
    this.#cwd = realpathSync(cwd);
    this.#maxBytes = maxBytes;
  }

  /** The key is the real path. */
  locate(ref: string, from: string): SourceFile {
    const path = resolve(dirname(from), ref);
    const key = this.#realPath(path);
    if (!isWithin(key, this.#root)) throw this.#outside();
    return { key, path };
  }

  nameOf(path: string): string {
    const name = relative(this.#cwd, path);
    return name.startsWith(`..${sep}`) ? path : name;
  }

  read(key: string): Uint8Array {
    return readDisk(key, this.#maxBytes);
  }

  #realPath(named: string): string {
    try {
      return realpathSync(named);
    } catch (error) {
      // Do not reveal whether a file outside the permitted folder exists.
      if (!isWithin(named, this.#root)) throw this.#outside();
      throw new MissingFileError(`cannot be read: ${reasonOf(error)}`, 'Correct the $ref.', named);
    }
  }

  #outside(): SourceError {
    const remedy = `Keep the contract's files below ${this.#root}.`;
    return new SourceError('lies outside the working tree of the contract', remedy);
  }
}

/** Reads a whole regular file. @throws SourceError for other kinds of file and for more than `maxBytes` */
export function readDisk(path: string, maxBytes: number): Uint8Array {
  try {
    return readRegularFile(path, maxBytes);
  } catch (error) {
    if (error instanceof UnsuitableFileError) throw new SourceError(error.message, error.remedy);
    throw new SourceError(`cannot be read: ${reasonOf(error)}`, 'Correct the path, or the permissions.');
  }
}

/** `path` with the links in its folder resolved, but not a link at its end. The result can be compared with other real paths. */
export function withRealFolder(path: string): string {
  return join(realpathSync(dirname(path)), basename(path));
}

/** The root of the git working tree that contains `folder`; `folder` itself outside of one. */
function workingTreeOrSelf(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (statSync(join(at, '.git'), { throwIfNoEntry: false })) return at;
    if (dirname(at) === at) return folder;
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

/** The scheme of a reference in lower case, without its colon: `https`, `file`, `urn`. */
export function schemeOf(reference: string): string | undefined {
  return /^([a-z][a-z\d+.-]*):/i.exec(reference)?.[1]?.toLowerCase();
}

export function isWebUrl(reference: string): boolean {
  return ['http', 'https'].includes(schemeOf(reference) ?? '');
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const newline = 0x0a;

/** The text of a file without its byte order mark. @throws SourceError unless it is UTF-8 */
export function decodeUtf8(bytes: Uint8Array): string {
  if (isUtf16(bytes)) throw new SourceError('is UTF-16, not UTF-8', 'Save it as UTF-8.');
  try {
    return utf8.decode(bytes);
  } catch {
    const line = firstInvalidLine(bytes);
    throw new SourceError(`is not UTF-8: the first invalid bytes are in line ${line}`, 'Save it as UTF-8.');
  }
}

/** Detected by the byte order mark, or, without one, by a zero byte in each of the first two characters. */
function isUtf16([a, b, c, d]: Uint8Array): boolean {
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) return true;
  return (a === 0 && c === 0) || (b === 0 && d === 0);
}

function firstInvalidLine(bytes: Uint8Array): number {
  let line = 1;
  for (let start = 0; start < bytes.length; line += 1) {
    const newlineAt = bytes.indexOf(newline, start);
    const end = newlineAt === -1 ? bytes.length : newlineAt + 1;
    try {
      utf8.decode(bytes.subarray(start, end));
    } catch {
      return line;
    }
    start = end;
  }
  return line;
}
