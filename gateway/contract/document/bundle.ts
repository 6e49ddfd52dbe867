import { dirname, relative } from 'node:path';
import { isMap, type JsonMap, pointerToken } from '../../shared/json.ts';
import type { ContractFiles } from './contractFiles.ts';
import { type ContractFile, isList, ownValue } from './located.ts';

/**
 * All local files of a contract as one document. Each other file becomes a member of `x-files`, under its path relative to the main
 * document, and the `$ref`s lead there: `schemas/drink.yaml#/Drink` → `#/x-files/schemas~1drink.yaml/Drink`. References to the web
 * and to files that cannot be read stay as they are.
 */
export function bundled(entry: ContractFile, files: ContractFiles): unknown {
  const places = files.localFilesFrom(entry);
  if (places.size === 1) return entry.root;
  const folder = dirname(places.get(entry)?.path ?? '');
  const names = new Map([...places].map(([file, { path }]) => [file, relative(folder, path)]));
  const rewritten = (file: ContractFile): unknown => new Rewriting(file, entry, names, files).value(file.root);
  const others = [...names].filter(([file]) => file !== entry).map(([file, name]) => [name, rewritten(file)]);
  return { ...(rewritten(entry) as JsonMap), 'x-files': Object.fromEntries(others) };
}

/** Copies the values of one file with the `$ref`s of the bundle. */
class Rewriting {
  readonly #file: ContractFile;
  readonly #entry: ContractFile;
  readonly #names: ReadonlyMap<ContractFile, string>;
  readonly #files: ContractFiles;
  /** YAML aliases lead to one value several times. */
  readonly #copies = new Map<object, unknown>();

  constructor(file: ContractFile, entry: ContractFile, names: ReadonlyMap<ContractFile, string>, files: ContractFiles) {
    this.#file = file;
    this.#entry = entry;
    this.#names = names;
    this.#files = files;
  }

  value(value: unknown): unknown {
    if (!isMap(value) && !isList(value)) return value;
    const copy = this.#copies.get(value) ?? (isMap(value) ? this.#map(value) : value.map((item) => this.value(item)));
    this.#copies.set(value, copy);
    return copy;
  }

  #map(map: JsonMap): unknown {
    // `$ref`s below an `$id` are relative to it, so they mean the same in the bundle.
    if (typeof ownValue(map, '$id') === 'string') return map;
    const members = Object.entries(map).map(([key, member]) => {
      if (key === '$ref' && typeof member === 'string') return [key, this.#reference(member)];
      if (key === 'mapping' && isMap(member) && 'propertyName' in map) return [key, this.#mapping(member)];
      return [key, this.value(member)];
    });
    return Object.fromEntries(members);
  }

  /** The mapping of a discriminator: its values are names of schemas, or references. */
  #mapping(mapping: JsonMap): unknown {
    const values = Object.entries(mapping).map(([key, target]) => {
      const isReference = typeof target === 'string' && /[#/.]/.test(target);
      return [key, isReference ? this.#reference(target) : target];
    });
    return Object.fromEntries(values);
  }

  #reference(reference: string): string {
    const [path = '', fragment = ''] = reference.split(/#(.*)/s);
    const target = path === '' ? this.#file : this.#target(path);
    const name = target && this.#names.get(target);
    if (target === undefined || name === undefined) return reference;
    // An anchor is found in the whole document.
    if (target === this.#entry || (fragment !== '' && !fragment.startsWith('/'))) return `#${fragment}`;
    return `#/x-files/${encodeURI(pointerToken(name))}${fragment}`;
  }

  #target(path: string): ContractFile | undefined {
    try {
      return this.#files.open(path, this.#file);
    } catch {
      return undefined;
    }
  }
}
