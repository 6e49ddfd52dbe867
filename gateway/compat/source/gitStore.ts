import { posix } from 'node:path';
import { git } from './gitCommand.ts';
import { idOf, readBlobs } from './gitObjects.ts';
import { Refusal } from './refusal.ts';
import type { Found, Store } from './source.ts';

/** `GITREF:path`; a reference may hold colons of its own within braces, as in `HEAD@{12:00}`. */
export interface GitReference {
  readonly ref: string;
  /** From the top of the repository, or, with `./` or `../`, from the folder that one is in. */
  readonly path: string;
}

export function gitReferenceOf(reference: string): GitReference | undefined {
  const [, ref, path] = /^((?:[^:{]|\{[^}]*\})+):(.+)$/s.exec(reference) ?? [];
  return ref === undefined || path === undefined ? undefined : { ref, path };
}

/** The files of a commit. It is looked up once, so that all of them are of the same one. */
export class GitStore implements Store {
  readonly #ref: string;
  readonly #tree: string;
  readonly #prefix: string;
  readonly #cwd: string;
  readonly #maxBytes: number;
  readonly #known = new Map<string, Uint8Array | Refusal>();

  /** @throws Refusal without git, a repository, or such a commit */
  constructor(ref: string, cwd: string, maxBytes: number) {
    const { out, complaint } = git(['rev-parse', '--show-prefix'], cwd);
    if (complaint !== undefined) {
      const message = /not a git repository/i.test(complaint) ? 'this is no git repository' : complaint;
      throw new Refusal(`cannot be read from git: ${message}`, 'Name a file, or go to the repository.');
    }
    const tree = idOf(`${ref}^{tree}`, cwd);
    if (tree === undefined) {
      const remedy = 'Correct the name, or fetch it: a shallow clone lacks most of them.';
      throw new Refusal(`is to be read from ${JSON.stringify(ref)}, which this repository does not know`, remedy);
    }
    this.#ref = ref;
    this.#tree = tree;
    this.#prefix = out.toString('utf8').replace(/\n$/, '');
    this.#cwd = cwd;
    this.#maxBytes = maxBytes;
  }

  /** What the user has named. */
  entry(path: string): Found {
    const isRelative = /^\.\.?\//.test(path);
    const key = within(posix.join(isRelative ? this.#prefix : '', path));
    const beside = posix.join(this.#prefix, path);
    if (!isRelative && this.#look(key) instanceof Refusal && !(this.#look(beside) instanceof Refusal)) {
      const remedy = `Write ${this.#ref}:./${path}: without ./ a path begins at the top of the repository.`;
      throw new Refusal('does not exist in that commit', remedy);
    }
    return { key, base: key };
  }

  locate(path: string, base: string): Found {
    const key = within(posix.isAbsolute(path) ? path : posix.join(posix.dirname(base), path));
    return { key, base: key };
  }

  nameOf(base: string): string {
    return `${this.#ref}:${base}`;
  }

  read(key: string): Uint8Array {
    const found = this.#look(key);
    if (found instanceof Refusal) throw found;
    return found;
  }

  announce(keys: readonly string[]): void {
    const unknown = [...new Set(keys)].filter((key) => !this.#known.has(key));
    if (unknown.length === 0) return;
    const read = readBlobs(this.#tree, unknown, this.#cwd, this.#maxBytes);
    for (const [key, found] of read) this.#known.set(key, found);
  }

  #look(key: string): Uint8Array | Refusal {
    this.announce([key]);
    return this.#known.get(key) ?? new Refusal('does not exist in that commit', 'Correct the path.');
  }
}

function within(path: string): string {
  if (!/^(?:\.\.(?:\/|$)|\/)/.test(path)) return path;
  throw new Refusal('lies outside the repository', "Keep the contract's files in the repository.");
}
