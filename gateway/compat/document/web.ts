import { mask } from '../../config/mask.ts';
import { textOf } from '../source/decode.ts';
import { fetchBytes, type WebLimits } from '../source/fetchBytes.ts';
import { Refusal } from '../source/refusal.ts';
import type { Library } from './library.ts';
import type { ContractFile } from './located.ts';
import { parseFile } from './parse.ts';
import { filesNamedIn } from './references.ts';

/** The documents of a contract that are on the web: fetched before anybody asks for them, or never. */
export class Web {
  readonly #limits: WebLimits | undefined;
  readonly #found = new Map<string, ContractFile | Error>();
  readonly #urls = new Map<ContractFile, string>();
  #left: { documents: number; bytes: number };

  /** Without limits, nothing may be fetched. */
  constructor(limits: WebLimits | undefined) {
    this.#limits = limits;
    this.#left = { documents: limits?.documents ?? 0, bytes: limits?.totalBytes ?? 0 };
  }

  /** Where a file was fetched from; undefined for a local one. */
  urlOf(file: ContractFile): string | undefined {
    return this.#urls.get(file);
  }

  /** @throws Refusal or CompareError */
  known(url: string): ContractFile {
    const found = this.#found.get(url);
    if (found instanceof Error) throw found;
    if (found) return found;
    const remedy = 'Allow it with --allow-remote, or keep a copy of it beside the contract.';
    throw new Refusal('is on the web, from where nothing is fetched', remedy);
  }

  /**
   * Fetches all that a contract may lead to. What goes wrong is kept for whoever gets to that `$ref`:
   * it may stand in an example, and mean nothing.
   */
  async fetchAll(library: Library, entry: ContractFile): Promise<void> {
    const limits = this.#limits;
    if (!limits) return;
    const deadline = AbortSignal.timeout(limits.totalMs);
    const files = new Set([entry]);
    // The set grows while it is walked.
    for (const file of files) {
      const names = [...filesNamedIn(file)];
      const fetches = names.map((name) => attempt(() => library.urlOf(name, file)));
      await Promise.all(fetches.filter((url) => url !== undefined).map((url) => this.#fetch(url, limits, deadline)));
      for (const name of names) {
        const other = attempt(() => library.open(name, file, undefined));
        if (other) files.add(other);
      }
    }
  }

  async #fetch(url: string, limits: WebLimits, deadline: AbortSignal): Promise<void> {
    if (this.#found.has(url)) return;
    const name = mask(url);
    this.#found.set(url, new Refusal('has not been fetched yet', 'Try again.'));
    try {
      this.#left.documents -= 1;
      if (this.#left.documents < 0) {
        throw new Refusal(`is one document too many: ${limits.documents} are fetched`, 'Keep copies of them.');
      }
      const { bytes, url: final } = await fetchBytes(url, limits, deadline);
      this.#left.bytes -= bytes.length;
      if (this.#left.bytes < 0) throw new Refusal('is too much, with all that was fetched', 'Keep copies of them.');
      const file = this.#keep(final, () => parseFile(mask(final), textOf(bytes)));
      this.#found.set(url, file);
    } catch (error) {
      this.#found.set(url, error instanceof Error ? error : new Refusal(`cannot be fetched: ${name}`, 'Try again.'));
    }
  }

  /** Two names of one document are one file. */
  #keep(url: string, read: () => ContractFile): ContractFile {
    const known = this.#found.get(url);
    if (known && !(known instanceof Error)) return known;
    const file = read();
    this.#found.set(url, file);
    this.#urls.set(file, url);
    return file;
  }
}

function attempt<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
