import { isMap, memberName } from '../../shared/json.ts';
import { CompareError } from '../failure.ts';
import {
  addressOf,
  below,
  type ContractFile,
  type ContractPlace,
  isList,
  keysTo,
  type Located,
  ownValue,
  refOf,
  rootOf,
} from './located.ts';

/**
 * Opens another file of a contract. `reference` is the part of a `$ref` before its `#`; the `$ref` is in the file `from`, at
 * `place`. @throws CompareError
 */
export type OpenFile = (reference: string, from: ContractFile, place: ContractPlace) => ContractFile;

/** One contract: its main document and the files that its `$ref`s lead to, each opened when a `$ref` to it is followed. */
export class Documents {
  readonly root: Located;
  /** OpenAPI 3.0 ignores the keys beside a `$ref`; later versions apply them. */
  readonly isOpenApi30: boolean;
  readonly #openFile: OpenFile;
  readonly #ids = new SchemaIds();
  /** Root of a file, or schema with `$id` → a `$ref` relative to this root or schema → the target. Filled by `follow`. */
  readonly #targets = new Map<unknown, Map<string, Located>>();
  /** Root of a file, or schema with `$id` → the name of an anchor below it → the schema with this anchor. */
  readonly #anchors = new Map<unknown, Map<string, Located>>();

  constructor(file: ContractFile, openFile: OpenFile) {
    this.root = rootOf(file);
    this.#openFile = openFile;
    const version = isMap(file.root) ? file.root['openapi'] : undefined;
    // YAML reads an unquoted 3.0 as the number 3.
    this.isOpenApi30 = /^3(\.0\b|$)/.test(String(version));
  }

  /**
   * Follows `$ref`s until there is none. Returns `located` itself if it has none.
   * @throws CompareError for a broken or circular `$ref`
   */
  resolve(located: Located): Located {
    let at = located;
    for (let hops = 0; refOf(at.value) !== undefined; hops += 1) {
      if (hops > 100) throw errorAt(located, 'is a circular $ref', 'Replace one of the $refs in the circle.');
      at = this.follow(at);
    }
    return at;
  }

  /** Follows the `$ref` of `located`, and only that one. @throws CompareError */
  follow(located: Located): Located {
    const ref = refOf(located.value) ?? '';
    const start = this.#ids.enclosing(located.place)?.at ?? rootOf(located.place.file);
    const known = this.#targets.get(start.value)?.get(ref);
    if (known) return known;
    const target = this.#find(ref, located, start);
    if (target.value === undefined) {
      throw errorAt(located, `refers to ${JSON.stringify(ref)}, which does not exist`, 'Correct the $ref.');
    }
    // Without this check, an empty file or an HTML page would be a schema that accepts every value.
    if (isScalar(target.value) || (target.value === null && target.place.parent === undefined)) {
      const kind = target.value === null ? 'is empty' : 'is a single value, not a part of a contract';
      throw errorAt(located, `refers to ${JSON.stringify(ref)}, which ${kind}`, 'Correct the $ref, or the file.');
    }
    const targets = this.#targets.get(start.value) ?? new Map<string, Located>();
    this.#targets.set(start.value, targets.set(ref, target));
    return target;
  }

  /** `start`: what `ref` is relative to, the root of the file or a schema with `$id`. */
  #find(ref: string, from: Located, start: Located): Located {
    const hash = ref.indexOf('#');
    const [reference, fragment] = hash === -1 ? [ref, ''] : [ref.slice(0, hash), ref.slice(hash + 1)];
    const pointer = percentDecoded(fragment);
    if (pointer === undefined) {
      throw errorAt(from, `has a $ref with an invalid percent-encoding: ${ref}`, 'Correct the $ref.');
    }
    if (reference !== '') return this.#findWithin(this.#open(reference, from), pointer);
    const withinStart = this.#findWithin(start, pointer);
    // Inside a schema with `$id`, many contracts still use pointers from the root of the file.
    return withinStart.value === undefined ? this.#findWithin(rootOf(from.place.file), pointer) : withinStart;
  }

  /** `reference`: a `$ref` without its fragment. @returns a schema with `$id`, or the root of another file */
  #open(reference: string, from: Located): Located {
    return this.#ids.find(reference, from) ?? rootOf(this.#openFile(reference, from.place.file, from.place));
  }

  #findWithin(start: Located, pointer: string): Located {
    if (pointer !== '' && !pointer.startsWith('/')) return this.#findAnchor(pointer, start);
    const keys = pointer.split('/').slice(1);
    return keys.reduce((at, key) => below(at, memberName(key)), start);
  }

  /** Treats `$dynamicAnchor` as `$anchor`: in practice, no two anchors of a contract have the same name. */
  #findAnchor(name: string, start: Located): Located {
    let anchors = this.#anchors.get(start.value);
    if (!anchors) {
      anchors = anchorsBelow(start);
      this.#anchors.set(start.value, anchors);
    }
    return anchors.get(name) ?? { value: undefined, place: start.place };
  }
}

/** A schema with an `$id`. `$ref`s below such a schema are relative to its `$id`, and not to the root of the file. */
interface IdentifiedSchema {
  readonly at: Located;
  /** Absolute if the base URI is known. */
  readonly uri: string;
}

/** The `$id`s in the files of a contract (JSON Schema 2020-12, 8.2.1). They are only names: nothing is fetched. */
class SchemaIds {
  /** File → URI → schema. */
  readonly #byFile = new Map<ContractFile, ReadonlyMap<string, IdentifiedSchema>>();

  /** The innermost schema with an `$id` that is at `place` or above it. */
  enclosing(place: ContractPlace): IdentifiedSchema | undefined {
    if (this.#schemasIn(place.file).size === 0) return undefined;
    let at = rootOf(place.file);
    let schema = identifiedSchemaAt(at, undefined);
    for (const key of keysTo(place)) {
      at = below(at, key);
      schema = identifiedSchemaAt(at, schema) ?? schema;
    }
    return schema;
  }

  /** The schema in the same file whose `$id` is `reference`, a `$ref` without its fragment. */
  find(reference: string, from: Located): Located | undefined {
    const schemas = this.#schemasIn(from.place.file);
    if (schemas.size === 0) return undefined;
    return schemas.get(resolveUri(reference, this.enclosing(from.place)))?.at;
  }

  #schemasIn(file: ContractFile): ReadonlyMap<string, IdentifiedSchema> {
    const schemas = this.#byFile.get(file) ?? identifiedSchemasIn(file);
    this.#byFile.set(file, schemas);
    return schemas;
  }
}

/** The schemas with an `$id`, by URI. If two of them have the same URI, the first counts. */
function identifiedSchemasIn(file: ContractFile): Map<string, IdentifiedSchema> {
  const found = new Map<string, IdentifiedSchema>();
  // A text search is many times faster than a walk over the file, and most files have no `$id`.
  if (file.text?.includes('$id') === false) return found;
  const seen = new Set<unknown>();
  const waiting: [at: Located, parent: IdentifiedSchema | undefined][] = [[rootOf(file), undefined]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [at, parent] = next;
    if ((!isMap(at.value) && !isList(at.value)) || seen.has(at.value)) continue;
    seen.add(at.value);
    const schema = identifiedSchemaAt(at, parent);
    if (schema && !found.has(schema.uri)) found.set(schema.uri, schema);
    for (const key of Object.keys(at.value).reverse()) waiting.push([below(at, key), schema ?? parent]);
  }
  return found;
}

function identifiedSchemaAt(at: Located, parent: IdentifiedSchema | undefined): IdentifiedSchema | undefined {
  const id = isMap(at.value) ? ownValue(at.value, '$id') : undefined;
  const reference = typeof id === 'string' ? id.split('#', 1)[0] : undefined;
  return reference ? { at, uri: resolveUri(reference, parent) } : undefined;
}

function resolveUri(reference: string, parent: IdentifiedSchema | undefined): string {
  return URL.parse(reference, parent?.uri)?.href ?? reference;
}

function anchorsBelow(start: Located): Map<string, Located> {
  const anchors = new Map<string, Located>();
  const waiting = [start];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const { value } = at;
    if (isMap(value)) {
      for (const name of [value['$anchor'], value['$dynamicAnchor']]) {
        if (typeof name === 'string' && !anchors.has(name)) anchors.set(name, at);
      }
    }
    const keys = isMap(value) ? Object.keys(value) : isList(value) ? [...value.keys()] : [];
    for (const key of keys) waiting.push(below(at, key));
  }
  return anchors;
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

function percentDecoded(fragment: string): string | undefined {
  if (!fragment.includes('%')) return fragment;
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function errorAt({ place }: Located, message: string, remedy: string): CompareError {
  return new CompareError(addressOf(place), message, remedy);
}
