import {
  below,
  type ContractFile,
  type ContractPlace,
  isList,
  isMap,
  type Located,
  ownValue,
  rootOf,
} from './located.ts';

/** A schema with an `$id`: `$ref`s within it begin there, and not in their file. */
export interface Resource {
  readonly at: Located;
  /** Absolute wherever that can be told. */
  readonly uri: string;
}

/** The `$id`s of the files of a contract (JSON Schema 2020-12, 8.2.1). They are names: nothing is fetched by them. */
export class Identifiers {
  readonly #files = new Map<ContractFile, ReadonlyMap<string, Resource>>();

  /** The innermost schema with an `$id` that a place is in, which it may be itself; undefined: none. */
  around(place: ContractPlace): Resource | undefined {
    if (this.#in(place.file).size === 0) return undefined;
    const keys: string[] = [];
    for (let at = place; at.parent !== undefined; at = at.parent) keys.push(at.key);
    let at = rootOf(place.file);
    let resource = resourceAt(at, undefined);
    for (const key of keys.reverse()) {
      at = below(at, key);
      resource = resourceAt(at, resource) ?? resource;
    }
    return resource;
  }

  /** The schema of the same file that is meant by a `$ref` without its fragment. */
  named(reference: string, from: Located): Located | undefined {
    const known = this.#in(from.place.file);
    if (known.size === 0) return undefined;
    return known.get(uriOf(reference, this.around(from.place)))?.at;
  }

  #in(file: ContractFile): ReadonlyMap<string, Resource> {
    const known = this.#files.get(file) ?? gather(file);
    this.#files.set(file, known);
    return known;
  }
}

/** By URI; of two that share one, the first. */
function gather(file: ContractFile): Map<string, Resource> {
  const found = new Map<string, Resource>();
  // Looking for a word is many times faster than walking the file, and nearly none has it.
  if (file.text?.includes('$id') === false) return found;
  const seen = new Set<unknown>();
  const waiting: [at: Located, around: Resource | undefined][] = [[rootOf(file), undefined]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [at, around] = next;
    if ((!isMap(at.value) && !isList(at.value)) || seen.has(at.value)) continue;
    seen.add(at.value);
    const own = resourceAt(at, around);
    if (own && !found.has(own.uri)) found.set(own.uri, own);
    for (const key of Object.keys(at.value).reverse()) waiting.push([below(at, key), own ?? around]);
  }
  return found;
}

function resourceAt(at: Located, around: Resource | undefined): Resource | undefined {
  const id = isMap(at.value) ? ownValue(at.value, '$id') : undefined;
  const name = typeof id === 'string' ? id.split('#', 1)[0] : undefined;
  return name ? { at, uri: uriOf(name, around) } : undefined;
}

function uriOf(reference: string, around: Resource | undefined): string {
  return URL.parse(reference, around?.uri)?.href ?? reference;
}
