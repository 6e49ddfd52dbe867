import { fileURLToPath } from 'node:url';
import { mask } from '../../config/mask.ts';
import { CompareError } from '../failure.ts';
import { textOf } from '../source/decode.ts';
import { Refusal, whereOf } from '../source/refusal.ts';
import type { Found, Store } from '../source/source.ts';
import type { Files } from './documents.ts';
import type { ContractFile, ContractPlace } from './located.ts';
import { parseFile } from './parse.ts';
import { filesNamedIn, isOnTheWeb, schemeOf } from './references.ts';
import type { Web } from './web.ts';

/** The files of one contract, each of them read once, and not before somebody gets to it. */
export class Library implements Files {
  readonly #store: Store;
  readonly #web: Web;
  readonly #byKey = new Map<string, ContractFile>();
  readonly #bases = new Map<ContractFile, string>();

  constructor(store: Store, web: Web) {
    this.#store = store;
    this.#web = web;
  }

  /** Takes in what has been read already. */
  add({ key, base }: Found, file: ContractFile): ContractFile {
    this.#byKey.set(key, file);
    this.#bases.set(file, base);
    return file;
  }

  open(reference: string, from: ContractFile, place: ContractPlace | undefined): ContractFile {
    try {
      const url = this.urlOf(reference, from);
      return url === undefined ? this.#local(reference, from) : this.#web.known(url);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const message = `refers to ${mask(JSON.stringify(reference))}, which ${error.message}`;
      throw new CompareError(whereOf(from, place), message, error.remedy, error);
    }
  }

  /** Undefined for what is not on the web. @throws Refusal */
  urlOf(reference: string, from: ContractFile): string | undefined {
    const base = this.#web.urlOf(from);
    if (base === undefined && !isOnTheWeb(reference)) return undefined;
    const url = URL.parse(reference, base);
    if (url === null) throw new Refusal('is no URL', 'Correct the $ref.');
    if (!isOnTheWeb(url.href)) {
      throw new Refusal('a document of the web may not lead to', 'Name a document of the web, or keep both locally.');
    }
    return url.href;
  }

  #local(reference: string, from: ContractFile): ContractFile {
    const base = this.#bases.get(from);
    if (base === undefined) throw new Refusal('stands in no known folder', 'Read the contract from a file.');
    const found = this.#store.locate(pathOf(reference), base);
    const known = this.#byKey.get(found.key);
    if (known) return known;
    this.#announce(from, base);
    const text = textOf(this.#store.read(found.key));
    return this.add(found, parseFile(this.#store.nameOf(found.base), text));
  }

  #announce(from: ContractFile, base: string): void {
    if (!this.#store.announce) return;
    const keys = [...filesNamedIn(from)].flatMap((name) => {
      try {
        return isOnTheWeb(name) ? [] : [this.#store.locate(pathOf(name), base).key];
      } catch (error) {
        if (error instanceof Refusal) return [];
        throw error;
      }
    });
    this.#store.announce(keys.filter((key) => !this.#byKey.has(key)));
  }
}

/** @throws Refusal */
function pathOf(reference: string): string {
  const scheme = schemeOf(reference);
  try {
    const path = scheme === 'file' ? fileURLToPath(reference) : decodeURIComponent(reference);
    if (path.includes('\0')) throw new URIError('NUL');
    if (scheme === undefined || scheme === 'file') return path;
  } catch {
    throw new Refusal('cannot be a path', 'Correct the $ref.');
  }
  throw new Refusal(`begins with ${scheme}:, which cannot be followed`, 'Name a file.');
}
