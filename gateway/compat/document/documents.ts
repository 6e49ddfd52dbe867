import { CompareError } from '../failure.ts';
import {
  below,
  type ContractFile,
  type ContractPlace,
  isList,
  isMap,
  type Located,
  pointerOf,
  refOf,
  rootOf,
} from './located.ts';
import { Identifiers } from './schemaIds.ts';

/** Where other files of a contract come from. */
export interface Files {
  /** The file that `reference` (the part of a `$ref` before its `#`) names, which stands at `place`. @throws CompareError */
  open(reference: string, from: ContractFile, place: ContractPlace): ContractFile;
}

/** A contract, whose `$ref`s are followed when somebody gets to them. */
export class Documents {
  readonly root: Located;
  /** OpenAPI 3.0 ignores what stands beside a `$ref`; later versions let it hold as well. */
  readonly isOpenApi30: boolean;
  readonly #files: Files;
  readonly #identifiers = new Identifiers();
  /** By what they stand in: a file, or a schema with an `$id`. */
  readonly #found = new Map<unknown, Map<string, Located>>();
  readonly #anchors = new Map<unknown, Map<string, Located>>();

  constructor(file: ContractFile, files: Files) {
    this.root = rootOf(file);
    this.#files = files;
    const version = isMap(file.root) ? file.root['openapi'] : undefined;
    // YAML reads a bare 3.0 as the number 3.
    this.isOpenApi30 = /^3(\.0\b|$)/.test(String(version));
  }

  /**
   * What is meant by `located`: itself, or what its `$ref` leads to.
   * @throws CompareError for a `$ref` that leads nowhere, or back to itself
   */
  resolve(located: Located): Located {
    let at = located;
    for (let hops = 0; refOf(at.value) !== undefined; hops += 1) {
      if (hops > 100) throw fault(located, 'is a $ref that only leads to other ones', 'Break the circle.');
      at = this.follow(at);
    }
    return at;
  }

  /** One `$ref` further; `located` has one. @throws CompareError */
  follow(located: Located): Located {
    const ref = refOf(located.value) ?? '';
    const start = this.#identifiers.around(located.place)?.at ?? rootOf(located.place.file);
    const known = this.#found.get(start.value)?.get(ref);
    if (known) return known;
    const target = this.#lookUp(ref, located, start);
    if (target.value === undefined) {
      throw fault(located, `refers to ${JSON.stringify(ref)}, which does not exist`, 'Correct the $ref.');
    }
    const found = this.#found.get(start.value) ?? new Map<string, Located>();
    this.#found.set(start.value, found.set(ref, target));
    return target;
  }

  /** `start`: what `#` means there. */
  #lookUp(ref: string, from: Located, start: Located): Located {
    const hash = ref.indexOf('#');
    const [name, fragment] = hash === -1 ? [ref, ''] : [ref.slice(0, hash), ref.slice(hash + 1)];
    const pointer = decoded(fragment);
    if (pointer === undefined) throw fault(from, `has a $ref with a broken escape: ${ref}`, 'Correct the $ref.');
    if (name !== '') return this.#within(this.#named(name, from), pointer);
    const own = this.#within(start, pointer);
    // Contracts give an `$id` to schemas that go on to name others by their place in the file.
    return own.value === undefined ? this.#within(rootOf(from.place.file), pointer) : own;
  }

  #named(name: string, from: Located): Located {
    return this.#identifiers.named(name, from) ?? rootOf(this.#files.open(name, from.place.file, from.place));
  }

  #within(start: Located, pointer: string): Located {
    if (pointer !== '' && !pointer.startsWith('/')) return this.#anchor(pointer, start);
    const keys = pointer.split('/').slice(1);
    return keys.reduce((at, key) => below(at, key.replaceAll('~1', '/').replaceAll('~0', '~')), start);
  }

  /** JSON Schema's `$anchor` and `$dynamicAnchor`; the second is read as the first, since one contract has one of a name. */
  #anchor(name: string, start: Located): Located {
    let anchors = this.#anchors.get(start.value);
    if (!anchors) {
      anchors = new Map();
      gatherAnchors(start, anchors);
      this.#anchors.set(start.value, anchors);
    }
    return anchors.get(name) ?? { value: undefined, place: start.place };
  }
}

function gatherAnchors(located: Located, anchors: Map<string, Located>): void {
  const waiting = [located];
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
}

function decoded(fragment: string): string | undefined {
  if (!fragment.includes('%')) return fragment;
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function fault({ place }: Located, message: string, remedy: string): CompareError {
  return new CompareError(`${place.file.name}#${pointerOf(place)}`, message, remedy);
}
