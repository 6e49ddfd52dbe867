import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { reasonOf } from '../../config/fault.ts';
import { readRegularFile, UnsuitableFileError } from '../../shared/regularFile.ts';
import { Refusal } from './refusal.ts';
import type { Found, Store } from './source.ts';

/** The files of a folder, and none from outside it, by whichever way they are named. */
export class Disk implements Store {
  readonly #top: string;
  readonly #cwd: string;
  readonly #maxBytes: number;

  /** `folder` is the one that the contract stands in. */
  constructor(folder: string, cwd: string, maxBytes: number) {
    const real = realpathSync(folder);
    this.#top = topOf(real);
    this.#cwd = realpathSync(cwd);
    this.#maxBytes = maxBytes;
  }

  /** Links are followed before it is asked where a file is; relative `$ref`s go by the name that the file was found by. */
  locate(path: string, base: string): Found {
    const named = resolve(dirname(base), path);
    const key = this.#realPath(named);
    if (!isWithin(key, this.#top)) throw this.#outside();
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
      // Whether there is such a file is nobody's business who may not read it.
      if (!isWithin(named, this.#top)) throw this.#outside();
      throw new Refusal(`cannot be read: ${reasonOf(error)}`, 'Correct the $ref.');
    }
  }

  #outside(): Refusal {
    const remedy = `Keep the contract's files below ${this.#top}.`;
    return new Refusal('lies outside the working tree of the contract', remedy);
  }
}

/** Reads a file as a whole, unless it is none or too large. @throws Refusal */
export function readDisk(path: string, maxBytes: number): Uint8Array {
  try {
    return readRegularFile(path, maxBytes);
  } catch (error) {
    if (error instanceof UnsuitableFileError) throw new Refusal(error.message, error.remedy);
    throw new Refusal(`cannot be read: ${reasonOf(error)}`, 'Correct the path, or the permissions.');
  }
}

export function tooLarge(bytes: number, maxBytes: number): Refusal {
  const [size, most] = [bytes, maxBytes].map((count) => `${(count / 1024 / 1024).toFixed(1)} MiB`);
  return new Refusal(`is ${size} long, and no more than ${most} are read`, 'Split it into several files.');
}

/** The folder of an entry, with links to it followed, so that what is outside it can be told by its name. */
export function entryPath(path: string): string {
  return join(realpathSync(dirname(path)), basename(path));
}

/** The top of the git working tree that `folder` is in, or else the folder itself. */
function topOf(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (statSync(join(at, '.git'), { throwIfNoEntry: false })) return at;
    if (dirname(at) === at) return folder;
  }
}

function isWithin(path: string, top: string): boolean {
  return path === top || path.startsWith(top.endsWith(sep) ? top : `${top}${sep}`);
}
