import { isList, isMap, type Located } from '../contract/place.ts';
import { isDocs } from './canonical.ts';
import type { Schema } from './schema.ts';
import type { Schemas } from './schemas.ts';

/** A schema where its holder names it: of several, all hold. What nobody asks for is never put together. */
export class Held {
  readonly all: readonly Located[];
  readonly #schemas: Schemas;
  #schema: Schema | undefined;

  /** `all` is never empty. */
  constructor(all: readonly Located[], schemas: Schemas) {
    this.all = all;
    this.#schemas = schemas;
  }

  get at(): Located {
    return this.all[0] ?? nowhere();
  }

  get schema(): Schema {
    this.#schema ??= this.all.length === 1 ? this.#schemas.of(this.at) : this.#schemas.all(this.all);
    return this.#schema;
  }

  /** Whether it says `readOnly` or `writeOnly`. */
  says(keyword: 'readOnly' | 'writeOnly'): boolean {
    const { value } = this.at;
    if (this.all.length === 1 && isMap(value) && !isComposed(value)) return value[keyword] === true;
    return this.schema.parts.some(({ map }) => map[keyword] === true);
  }

  /** Whether two say the same so plainly that there is no need to look closer; false: that is not known. */
  isPlainly(other: Held): boolean {
    if (this.all.length !== 1 || other.all.length !== 1) return false;
    const [a, b] = [this.at.value, other.at.value];
    if (!isMap(a) || !isMap(b) || isComposed(a)) return false;
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => isSame(a[key], b[key]));
  }
}

const composing = ['$ref', '$dynamicRef', 'allOf', 'oneOf', 'anyOf'] as const;

function isComposed(map: Readonly<Record<string, unknown>>): boolean {
  return composing.some((keyword) => map[keyword] !== undefined);
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return a !== undefined;
  if (!isList(a) || !isList(b) || a.length !== b.length) return false;
  return a.every((item, index) => item === b[index]);
}

function nowhere(): never {
  throw new TypeError('a schema that stands nowhere');
}

/** By keyword, what the parts of a schema say, without what only describes. */
export type Sayings = ReadonlyMap<string, readonly Located[]>;

export function sayingsOf(parts: readonly { readonly located: Located }[]): Sayings {
  const sayings = new Map<string, Located[]>();
  for (const { located } of parts) {
    if (!isMap(located.value)) continue;
    for (const key of Object.keys(located.value)) {
      const value = located.value[key];
      if (value === undefined || isDocs(key)) continue;
      const said = { value, place: { file: located.place.file, parent: located.place, key } };
      const known = sayings.get(key);
      if (known) known.push(said);
      else sayings.set(key, [said]);
    }
  }
  return sayings;
}
