import { spawnSync } from 'node:child_process';
import { posix } from 'node:path';
import { largestContractBytes } from '../../shared/fileSystem.ts';
import {
  type FileSource,
  MissingFileError,
  SourceError,
  type SourceFile,
  tooLarge,
  withPlaceInErrors,
} from './source.ts';

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
  /** Path in the commit → content, or why it cannot be read. */
  readonly #loaded = new Map<string, Uint8Array | SourceError>();

  /** @throws SourceError without git, outside of a repository, or for an unknown revision */
  constructor(revision: string, cwd: string, maxBytes: number) {
    const { stdout, failure } = git(['rev-parse', '--show-prefix'], cwd);
    if (failure !== undefined) {
      const reason = /not a git repository/i.test(failure) ? 'this is not a git repository' : failure;
      throw new SourceError(`cannot be read from git: ${reason}`, 'Give a file, or run the command in the repository.');
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
    return { key, path: key };
  }

  locate(ref: string, from: string): SourceFile {
    const key = insideRepository(posix.isAbsolute(ref) ? ref : posix.join(posix.dirname(from), ref));
    return { key, path: key };
  }

  nameOf(path: string): string {
    return `${this.#revision}:${path}`;
  }

  read(key: string): Uint8Array {
    const result = this.#load(key);
    if (result instanceof SourceError) throw result;
    return result;
  }

  prefetch(keys: readonly string[]): void {
    const keysToLoad = [...new Set(keys)].filter((key) => !this.#loaded.has(key));
    if (keysToLoad.length === 0) return;
    const results = readBlobs(this.#tree, keysToLoad, this.#cwd, this.#maxBytes);
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

  /** Relative paths are resolved against `cwd`. @throws CompareError where GitSource throws SourceError */
  constructor(revision: string, cwd: string) {
    this.#revision = revision;
    // The revision is a text of the user, which may be empty.
    const name = revision === '' ? 'the commit' : revision;
    this.#source = withPlaceInErrors(name, () => new GitSource(revision, cwd, largestContractBytes));
  }

  /** `path` begins with `./` or `../`. Undefined if the file does not exist. @throws CompareError */
  read(path: string): Uint8Array | undefined {
    return withPlaceInErrors(`${this.#revision}:${path}`, () => {
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

interface GitResult {
  readonly stdout: Buffer;
  /** The first line of git's error message; undefined if git succeeded. */
  readonly failure: string | undefined;
}

// In a partial clone, git may have to fetch the objects first.
const gitTimeoutMs = 60_000;

/**
 * Runs git without a shell. Pass user input in `input`, never in `args`, where git could take it for an option.
 * @throws SourceError if git cannot be run
 */
function git(args: readonly string[], cwd: string, input = '', maxBuffer = 10_000_000): GitResult {
  const env = { ...process.env, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' };
  const options = { cwd, input, env, maxBuffer, timeout: gitTimeoutMs };
  const { error, status, stdout, stderr } = spawnSync('git', [...args], options);
  if (error && 'code' in error && error.code === 'ENOENT') {
    throw new SourceError('must be read from git, which is not installed', 'Install git, or name a file.');
  }
  if (error) throw new SourceError(`cannot be read from git: ${error.message}`, 'Try again.');
  const [firstLine = ''] = stderr.toString('utf8').trim().split('\n');
  const failure = firstLine.replace(/^fatal: /, '') || 'git failed';
  return { stdout, failure: status === 0 ? undefined : failure };
}

/** The object id of a revision such as `HEAD^{tree}`; undefined if it does not exist. */
function resolveRevision(revision: string, cwd: string): string | undefined {
  if (/[\n\0]/.test(revision)) return undefined;
  const { stdout } = git(['cat-file', '--batch-check'], cwd, `${revision}\n`);
  return /^([0-9a-f]{40,64}) \S+ \d+\n$/.exec(stdout.toString('latin1'))?.[1];
}

// The most bytes that git prints about one object, besides its name and content.
const maxHeaderBytes = 300;

/** Reads files of a tree in two git calls: the first one returns the sizes, so that no large file is read. */
function readBlobs(
  tree: string,
  paths: readonly string[],
  cwd: string,
  maxBytes: number,
): Map<string, Uint8Array | SourceError> {
  const results = new Map<string, Uint8Array | SourceError>();
  for (const path of paths) results.set(path, errorFor('missing'));
  const validPaths = paths.filter((path) => path !== '' && !/[\n\0]/.test(path));
  const sizes = catFile('--batch-check', tree, validPaths, cwd, 1000 + maxHeaderBytes * validPaths.length);
  let maxOutputBytes = 0;
  const readable = validPaths.filter((path, index) => {
    const { kind, size } = sizes[index] ?? { kind: 'missing', size: 0 };
    if (kind === 'blob' && size <= maxBytes) {
      maxOutputBytes += size + maxHeaderBytes;
      return true;
    }
    results.set(path, kind === 'blob' ? tooLarge(size, maxBytes) : errorFor(kind));
    return false;
  });
  const contents = catFile('--batch', tree, readable, cwd, maxOutputBytes);
  for (const [index, path] of readable.entries()) results.set(path, contents[index]?.bytes ?? errorFor('missing'));
  return results;
}

interface GitObject {
  /** `blob`, `tree` or `missing`; for a symbolic link that cannot be followed, `symlink`, `dangling`, `loop` or `notdir`. */
  readonly kind: string;
  readonly size: number;
  /** Empty for `--batch-check`. */
  readonly bytes: Uint8Array;
}

function catFile(
  mode: '--batch-check' | '--batch',
  tree: string,
  paths: readonly string[],
  cwd: string,
  maxBuffer: number,
): GitObject[] {
  if (paths.length === 0) return [];
  const names = paths.map((path) => `${tree}:${path}\n`);
  // git repeats the name of a missing object in its answer.
  const maxOutput = names.reduce((sum, name) => sum + Buffer.byteLength(name), maxBuffer);
  const { stdout, failure } = git(['cat-file', mode, '--follow-symlinks'], cwd, names.join(''), maxOutput);
  if (failure !== undefined) throw new SourceError(`cannot be read from git: ${failure}`, 'Check the repository.');
  return parseBatch(stdout, mode === '--batch');
}

const newline = 0x0a;
const headerPattern = /^(\S+) (\S+)(?: (\d+))?$/;
const linkKinds = new Set(['symlink', 'dangling', 'loop', 'notdir']);

/**
 * Parses the output of `git cat-file --batch` or `--batch-check`:
 *
 *     <id> blob <size>          then, with --batch, <size> bytes and a newline
 *     <name> missing
 *     dangling <size>           then <size> bytes and a newline, even with --batch-check; the same for other broken links
 */
function parseBatch(output: Buffer, withBytes: boolean): GitObject[] {
  const objects: GitObject[] = [];
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(newline, at);
    const header = output.toString('utf8', at, end);
    at = end + 1;
    const isMissing = / (?:missing|ambiguous)$/.test(header);
    const [, first = '', second = 'missing', third = '0'] = isMissing ? [] : (headerPattern.exec(header) ?? []);
    const isLink = linkKinds.has(first);
    const kind = isLink ? first : second;
    const size = Number(isLink ? second : third);
    const hasBytes = isLink || (withBytes && kind !== 'missing');
    objects.push({ kind, size, bytes: output.subarray(at, hasBytes ? at + size : at) });
    if (hasBytes) at += size + 1;
  }
  return objects;
}

function errorFor(kind: string): SourceError {
  if (kind === 'symlink') {
    return new SourceError(
      'is a link that leads out of the repository',
      "Keep the contract's files in the repository.",
    );
  }
  if (kind === 'tree') return new SourceError('is a folder, not a file', 'Name a file.');
  if (kind === 'dangling' || kind === 'loop') return new SourceError('is a broken link', 'Correct the link.');
  return new MissingFileError('does not exist in that commit', 'Correct the path, or the commit.');
}
