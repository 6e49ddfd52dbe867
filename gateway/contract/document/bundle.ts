import { dirname, relative } from 'node:path';
import { isMap, type JsonMap, pointerToken } from '../../shared/json.ts';
import type { ContractFiles } from './contractFiles.ts';
import { type ContractFile, discriminatorMapping, isList, isMappedReference, ownValue } from './located.ts';

/**
 * All local files of a contract as one document. Each other file becomes a member of `x-files`, under its path relative to the main
 * document, and the `$ref`s lead there: `schemas/drink.yaml#/Drink` → `#/x-files/schemas~1drink.yaml/Drink`. References to the web
 * and to files that cannot be read stay as they are.
 */
export function bundled(entry: ContractFile, files: ContractFiles): unknown {
  const { found: places } = files.localFilesFrom(entry);
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
    // Below an `$id`, `#/…` would be relative to the schema with the `$id`.
    if (typeof ownValue(map, '$id') === 'string') return map;
    const mapping = discriminatorMapping(map);
    const members = Object.entries(map).map(([key, member]) => {
      if ((key === '$ref' || key === '$dynamicRef') && typeof member === 'string')
        return [key, this.#reference(member)];
      if (key === 'discriminator' && mapping) return [key, { ...(member as JsonMap), mapping: this.#mapping(mapping) }];
      return [key, this.value(member)];
    });
    return Object.fromEntries(members);
  }

  /** A value may be the name of a schema, even if it looks like that of a file. */
  #mapping(mapping: JsonMap): unknown {
    const { components } = isMap(this.#entry.root) ? this.#entry.root : {};
    const schemas = isMap(components) ? ownValue(components, 'schemas') : undefined;
    const isName = (target: string): boolean => isMap(schemas) && Object.hasOwn(schemas, target);
    const values = Object.entries(mapping).map(([key, target]) => {
      return [key, isMappedReference(target) && !isName(target) ? this.#reference(target) : target];
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
