import {
  below,
  type ContractFile,
  type ContractPlace,
  isList,
  isMap,
  keysTo,
  type Located,
  ownValue,
  rootOf,
} from './located.ts';

/** A schema with an `$id`. `$ref`s below it are relative to it, not to the root of the file. */
export interface IdentifiedSchema {
  readonly at: Located;
  /** Absolute if the base URI is known. */
  readonly uri: string;
}

/** The `$id`s in the files of a contract (JSON Schema 2020-12, 8.2.1). They are only names: nothing is fetched. */
export class SchemaIds {
  readonly #byFile = new Map<ContractFile, ReadonlyMap<string, IdentifiedSchema>>();

  /** The innermost schema with an `$id` that is at `place` or above it. */
  enclosing(place: ContractPlace): IdentifiedSchema | undefined {
    if (this.#of(place.file).size === 0) return undefined;
    let at = rootOf(place.file);
    let schema = identified(at, undefined);
    for (const key of keysTo(place)) {
      at = below(at, key);
      schema = identified(at, schema) ?? schema;
    }
    return schema;
  }

  /** The schema in the same file that `reference`, a `$ref` without its fragment, names. */
  find(reference: string, from: Located): Located | undefined {
    const known = this.#of(from.place.file);
    if (known.size === 0) return undefined;
    return known.get(resolveUri(reference, this.enclosing(from.place)))?.at;
  }

  #of(file: ContractFile): ReadonlyMap<string, IdentifiedSchema> {
    const known = this.#byFile.get(file) ?? findAll(file);
    this.#byFile.set(file, known);
    return known;
  }
}

/** By URI. If two schemas have the same one, the first counts. */
function findAll(file: ContractFile): Map<string, IdentifiedSchema> {
  const found = new Map<string, IdentifiedSchema>();
  // A text search is many times faster than a walk over the file, and most files have no `$id`.
  if (file.text?.includes('$id') === false) return found;
  const seen = new Set<unknown>();
  const waiting: [at: Located, parent: IdentifiedSchema | undefined][] = [[rootOf(file), undefined]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [at, parent] = next;
    if ((!isMap(at.value) && !isList(at.value)) || seen.has(at.value)) continue;
    seen.add(at.value);
    const schema = identified(at, parent);
    if (schema && !found.has(schema.uri)) found.set(schema.uri, schema);
    for (const key of Object.keys(at.value).reverse()) waiting.push([below(at, key), schema ?? parent]);
  }
  return found;
}

function identified(at: Located, parent: IdentifiedSchema | undefined): IdentifiedSchema | undefined {
  const id = isMap(at.value) ? ownValue(at.value, '$id') : undefined;
  const reference = typeof id === 'string' ? id.split('#', 1)[0] : undefined;
  return reference ? { at, uri: resolveUri(reference, parent) } : undefined;
}

function resolveUri(reference: string, parent: IdentifiedSchema | undefined): string {
  return URL.parse(reference, parent?.uri)?.href ?? reference;
}
