import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { reasonOf } from '../../config/fault.ts';
import { readRegularFile, UnsuitableFileError } from '../../shared/fileSystem.ts';
import { type FileSource, SourceError, type SourceFile } from './source.ts';

/**
 * Files on disk, limited to the git working tree of the contract, or to its folder if it is in none. Symbolic links are
 * resolved before that is checked.
 */
export class DiskSource implements FileSource {
  /** The folder that contains every permitted file; a real path. */
  readonly #root: string;
  readonly #cwd: string;
  readonly #maxBytes: number;

  /** `folder`: the one that contains the contract. */
  constructor(folder: string, cwd: string, maxBytes: number) {
    const real = realpathSync(folder);
    this.#root = workingTreeOrSelf(real);
    this.#cwd = realpathSync(cwd);
    this.#maxBytes = maxBytes;
  }

  /** The key is the real path. The base is not: relative `$ref`s are resolved against the name before links are followed. */
  locate(path: string, base: string): SourceFile {
    const named = resolve(dirname(base), path);
    const key = this.#realPath(named);
    if (!isWithin(key, this.#root)) throw this.#outside();
    return { key, base: named };
  }

  nameOf(base: string): string {
    const name = relative(this.#cwd, base);
    return name.startsWith(`..${sep}`) ? base : name;
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
      throw new SourceError(`cannot be read: ${reasonOf(error)}`, 'Correct the $ref.');
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

/** `path` with links in its folder resolved, but not a link at its end, so that it can be compared with the root. */
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
