import { isMap, type Located } from '../document/located.ts';
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
}

const composing = ['$ref', '$dynamicRef', 'allOf', 'oneOf', 'anyOf'] as const;

function isComposed(map: Readonly<Record<string, unknown>>): boolean {
  return composing.some((keyword) => map[keyword] !== undefined);
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
