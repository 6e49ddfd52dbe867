import { digestOf, digestOfFailure } from '../config/contentDigest.ts';
import { reasonOf } from '../config/fault.ts';
import { parseNames } from '../config/names.ts';
import { type Watch, watchFile } from '../config/watch.ts';
import { readRegularFile } from '../shared/regularFile.ts';

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
