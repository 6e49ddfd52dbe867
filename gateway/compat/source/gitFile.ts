import { largestContract } from '../../shared/regularFile.ts';
import { git } from './gitCommand.ts';
import { GitStore } from './gitStore.ts';
import { NotThere, Refusal, refusedAt } from './refusal.ts';

/** The files of one commit, as bytes. */
export class Commit {
  readonly #ref: string;
  readonly #store: GitStore;

  /** `cwd`: where relative paths begin. @throws CompareError without git, a repository, or such a commit */
  constructor(ref: string, cwd: string) {
    this.#ref = ref;
    this.#store = refusedAt(ref === '' ? 'the commit' : ref, () => new GitStore(ref, cwd, largestContract));
  }

  /** Undefined if there is no such file; `path` has `./` or `../` in front. @throws CompareError */
  read(path: string): Uint8Array | undefined {
    return refusedAt(`${this.#ref}:${path}`, () => {
      if (/[\n\0]/.test(path)) throw new Refusal('cannot be looked up: its name has several lines', 'Rename the file.');
      try {
        return this.#store.read(this.#store.entry(path).key);
      } catch (error) {
        if (error instanceof NotThere) return undefined;
        throw error;
      }
    });
  }
}

/** The top of the working tree; undefined where there is none. */
export function workingTreeOf(cwd: string): string | undefined {
  try {
    const { out, complaint } = git(['rev-parse', '--show-toplevel'], cwd);
    return complaint === undefined ? out.toString('utf8').replace(/\n$/, '') : undefined;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
