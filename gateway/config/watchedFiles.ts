import { largestContractBytes } from '../shared/fileSystem.ts';
import { realPathOf } from './location.ts';
import type { Snapshot } from './snapshot.ts';
import { type Watch, watchFile } from './watch.ts';

/** What became of the routes.yaml that was read last. */
interface RoutesFileState {
  /** The digest of its content; undefined: not known. */
  readonly lastReadDigest: () => string | undefined;
  /** Whether it was rejected, so that the gateway serves an earlier configuration. */
  readonly isRejected: () => boolean;
}

/**
 * Watches routes.yaml, the file that it links to, all files of the contracts, and the names of clients if a waiver, freeze or brownout uses
 * them. A reload may change which files these are.
 */
export class WatchedFiles {
  readonly #onChange: (content?: Uint8Array) => void;
  readonly #state: RoutesFileState;
  readonly #watches = new Map<string, Watch>();

  /** `onChange` gets the content of routes.yaml if that file has changed and can be read. */
  constructor(onChange: (content?: Uint8Array) => void, state: RoutesFileState) {
    this.#onChange = onChange;
    this.#state = state;
  }

  /** Watches these files, and stops watching all others. */
  setFiles(
    routes: string,
    { sortedVersions, usage: { names: namesFile } }: Pick<Snapshot, 'sortedVersions' | 'usage'>,
  ): void {
    // File → the digest of the content that was read last; undefined: not known.
    const otherFiles = new Map<string, string | undefined>();
    for (const { contract } of sortedVersions)
      for (const [file, digest] of contract?.files ?? []) otherFiles.set(file, digest === '' ? undefined : digest);
    // Waivers, freezes and brownouts use names of clients. They are resolved when the snapshot is loaded.
    const usesNames = sortedVersions.some(
      ({ waivers, freeze, brownouts }) => freeze || waivers.length + brownouts.length > 0,
    );
    if (namesFile !== undefined && usesNames) otherFiles.set(namesFile, undefined);
    for (const [file, watch] of this.#watches) {
      if (file === routes || otherFiles.has(file)) continue;
      watch.close();
      this.#watches.delete(file);
    }
    if (!this.#watches.has(routes)) {
      const options = { ...this.#state, takesContent: true, realPathOf };
      this.#watches.set(routes, watchFile(routes, this.#onChange, options));
    }
    for (const [file, lastReadDigest] of otherFiles) {
      if (this.#watches.has(file)) continue;
      const options = { lastReadDigest, maxBytes: largestContractBytes };
      this.#watches.set(
        file,
        watchFile(file, () => this.#onChange(), options),
      );
    }
  }

  close(): void {
    for (const watch of this.#watches.values()) watch.close();
    this.#watches.clear();
  }
}
