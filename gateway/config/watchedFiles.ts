import { type Watch, watchFile } from './watch.ts';

/** Watches a set of files that may be another one after a reload: routes.yaml and the contracts that it names. */
export class WatchedFiles {
  readonly #onChange: () => void;
  readonly #watches = new Map<string, Watch>();

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Watches these files and no others. `lastRead`: as for `watchFile`, of a file that is read at other times, too. */
  follow(files: Iterable<string>, lastRead: ReadonlyMap<string, () => string | undefined> = new Map()): void {
    const wanted = new Set(files);
    for (const [file, watch] of this.#watches) {
      if (wanted.has(file)) continue;
      watch.close();
      this.#watches.delete(file);
    }
    for (const file of wanted) {
      if (!this.#watches.has(file)) this.#watches.set(file, watchFile(file, this.#onChange, lastRead.get(file)));
    }
  }

  close(): void {
    this.follow([]);
  }
}
