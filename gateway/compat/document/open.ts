import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { largestContract } from '../../shared/regularFile.ts';
import { textOf } from '../source/decode.ts';
import { Disk, entryPath, readDisk, tooLarge } from '../source/disk.ts';
import { type WebLimits, webLimits } from '../source/fetchBytes.ts';
import { GitStore, gitReferenceOf } from '../source/gitStore.ts';
import { Refusal, refusedAt } from '../source/refusal.ts';
import type { Found, Store } from '../source/source.ts';
import { Documents } from './documents.ts';
import { Library } from './library.ts';
import type { ContractFile } from './located.ts';
import { refuseUnlessOpenApi } from './openApi.ts';
import { parseFile } from './parse.ts';
import { isOnTheWeb } from './references.ts';
import { Web } from './web.ts';

export interface OpenOptions {
  readonly cwd: string;
  readonly stdin: () => Promise<string> | string;
  /** Whether `$ref`s to `http:` and `https:` are followed. */
  readonly allowRemote: boolean;
  /** Of one file. */
  readonly maxBytes?: number;
  readonly remote?: Partial<WebLimits>;
}

interface Entry {
  readonly store: Store;
  readonly found: Found;
  readonly text: string;
}

/**
 * Reads a contract: a file, `-` for standard input, or `GITREF:path`. Local `$ref`s may lead to any file of the git working
 * tree that the contract stands in (or of its folder, if it stands in none); those of a commit, to files of that commit.
 * @throws CompareError
 */
export async function openContract(reference: string, options: OpenOptions): Promise<Documents> {
  const { maxBytes = largestContract, allowRemote } = options;
  const name = reference === '-' ? 'standard input' : reference;
  const input = reference === '-' ? await options.stdin() : undefined;
  const entry = refusedAt(name, () =>
    input === undefined ? entryOf(reference, options.cwd, maxBytes) : standardInput(input, options.cwd, maxBytes),
  );
  const web = new Web(allowRemote ? { ...webLimits(maxBytes), ...options.remote } : undefined);
  const library = new Library(entry.store, web);
  const file: ContractFile = library.add(entry.found, parseFile(name, entry.text));
  refuseUnlessOpenApi(file);
  await web.fetchAll(library, file);
  return new Documents(file, library);
}

function entryOf(reference: string, cwd: string, maxBytes: number): Entry {
  const path = resolve(cwd, reference);
  const inGit = existsSync(path) ? undefined : gitReferenceOf(reference);
  if (inGit && isOnTheWeb(reference)) {
    throw new Refusal('is on the web', 'Fetch it first, or pipe it in and name it -.');
  }
  if (inGit) {
    const store = new GitStore(inGit.ref, cwd, maxBytes);
    const found = store.entry(inGit.path);
    return { store, found, text: textOf(store.read(found.key)) };
  }
  const text = textOf(readDisk(path, maxBytes));
  const base = entryPath(path);
  return { store: new Disk(resolve(base, '..'), cwd, maxBytes), found: { key: realpathSync(path), base }, text };
}

/** Its relative `$ref`s begin in the folder that one is in. */
function standardInput(input: string, cwd: string, maxBytes: number): Entry {
  const bytes = Buffer.byteLength(input);
  if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
  if (input.includes('\0')) throw new Refusal('is not UTF-8', 'Convert it to UTF-8.');
  const base = resolve(realpathSync(cwd), '-');
  return { store: new Disk(cwd, cwd, maxBytes), found: { key: '-', base }, text: input.replace(/^\uFEFF/, '') };
}
