import { posix } from 'node:path';
import { largestContract } from '../../shared/fileSystem.ts';
import { git, readBlobs, resolveRevision } from './gitObjects.ts';
import { type FileSource, locatingErrors, MissingFileError, SourceError, type SourceFile } from './source.ts';

/** `REVISION:path`. A revision may contain colons within braces, as in `HEAD@{12:00}`. */
export interface GitReference {
  readonly revision: string;
  /** Relative to the top of the repository, or, with `./` or `../`, to the current folder. */
  readonly path: string;
}

export function parseGitReference(reference: string): GitReference | undefined {
  const [, revision, path] = /^((?:[^:{]|\{[^}]*\})+):(.+)$/s.exec(reference) ?? [];
  return revision === undefined || path === undefined ? undefined : { revision, path };
}

/** The files of one commit. The revision is resolved once, so that all files come from the same commit. */
export class GitSource implements FileSource {
  readonly #revision: string;
  readonly #tree: string;
  /** The current folder relative to the top of the repository, with a slash at the end. */
  readonly #prefix: string;
  readonly #cwd: string;
  readonly #maxBytes: number;
  readonly #loaded = new Map<string, Uint8Array | SourceError>();

  /** @throws SourceError without git, outside of a repository, or for an unknown revision */
  constructor(revision: string, cwd: string, maxBytes: number) {
    const { stdout, failure } = git(['rev-parse', '--show-prefix'], cwd);
    if (failure !== undefined) {
      const reason = /not a git repository/i.test(failure) ? 'this is not a git repository' : failure;
      throw new SourceError(`cannot be read from git: ${reason}`, 'Name a file, or change to the repository.');
    }
    const tree = resolveRevision(`${revision}^{tree}`, cwd);
    if (tree === undefined) {
      const remedy = 'Correct the name, or fetch it: a shallow clone lacks most revisions.';
      throw new SourceError(`the revision ${JSON.stringify(revision)} does not exist in this repository`, remedy);
    }
    this.#revision = revision;
    this.#tree = tree;
    this.#prefix = stdout.toString('utf8').replace(/\n$/, '');
    this.#cwd = cwd;
    this.#maxBytes = maxBytes;
  }

  /** The file that the user named on the command line. @throws SourceError */
  entry(path: string): SourceFile {
    const isRelative = /^\.\.?\//.test(path);
    const key = insideRepository(posix.join(isRelative ? this.#prefix : '', path));
    const inFolder = posix.join(this.#prefix, path);
    if (!isRelative && this.#load(key) instanceof SourceError && !(this.#load(inFolder) instanceof SourceError)) {
      const remedy = `Write ${this.#revision}:./${path}: without ./ a path begins at the top of the repository.`;
      throw new SourceError('does not exist in that commit', remedy);
    }
    return { key, base: key };
  }

  locate(path: string, base: string): SourceFile {
    const key = insideRepository(posix.isAbsolute(path) ? path : posix.join(posix.dirname(base), path));
    return { key, base: key };
  }

  nameOf(base: string): string {
    return `${this.#revision}:${base}`;
  }

  read(key: string): Uint8Array {
    const result = this.#load(key);
    if (result instanceof SourceError) throw result;
    return result;
  }

  prefetch(keys: readonly string[]): void {
    const unknown = [...new Set(keys)].filter((key) => !this.#loaded.has(key));
    if (unknown.length === 0) return;
    const results = readBlobs(this.#tree, unknown, this.#cwd, this.#maxBytes);
    for (const [key, result] of results) this.#loaded.set(key, result);
  }

  #load(key: string): Uint8Array | SourceError {
    this.prefetch([key]);
    return this.#loaded.get(key) ?? new SourceError('does not exist in that commit', 'Correct the path.');
  }
}

/** Reads any file of a commit as bytes, such as an older routes.yaml. */
export class Commit {
  readonly #revision: string;
  readonly #source: GitSource;

  /** Relative paths are resolved against `cwd`. @throws CompareError as the constructor of GitSource */
  constructor(revision: string, cwd: string) {
    this.#revision = revision;
    const name = revision === '' ? 'the commit' : revision;
    this.#source = locatingErrors(name, () => new GitSource(revision, cwd, largestContract));
  }

  /** `path` begins with `./` or `../`. Undefined if the file does not exist. @throws CompareError */
  read(path: string): Uint8Array | undefined {
    return locatingErrors(`${this.#revision}:${path}`, () => {
      if (/[\n\0]/.test(path)) throw new SourceError('has a line break in its name', 'Rename the file.');
      try {
        return this.#source.read(this.#source.entry(path).key);
      } catch (error) {
        if (error instanceof MissingFileError) return undefined;
        throw error;
      }
    });
  }
}

/** The root of the git working tree that contains `cwd`; undefined outside of one, or without git. */
export function workingTreeOf(cwd: string): string | undefined {
  try {
    const { stdout, failure } = git(['rev-parse', '--show-toplevel'], cwd);
    return failure === undefined ? stdout.toString('utf8').replace(/\n$/, '') : undefined;
  } catch (error) {
    if (error instanceof SourceError) return undefined;
    throw error;
  }
}

function insideRepository(path: string): string {
  if (!/^(?:\.\.(?:\/|$)|\/)/.test(path)) return path;
  throw new SourceError('lies outside the repository', "Keep the contract's files in the repository.");
}
