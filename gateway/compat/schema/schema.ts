import type { ContractPlace, JsonMap, Located } from '../document/located.ts';
import type { JsonType } from './jsonTypes.ts';
import type { Schemas } from './schemas.ts';
import { type View, viewOf } from './view.ts';

/** One schema object, and what `allOf` and `$ref` say elsewhere is in `Schema.parts`. */
export interface Part {
  readonly map: JsonMap;
  readonly located: Located;
  readonly id: number;
}

/** What a value has to fulfil: one schema object, or several that all hold (`allOf`). The same parts are the same object. */
export class Schema {
  readonly parts: readonly Part[];
  /** Those of an alternative to null: that they refuse null says nothing. */
  readonly besideNull: ReadonlySet<JsonMap>;
  readonly located: Located;
  readonly #schemas: Schemas;
  #view: View | undefined;

  constructor({ parts, besideNull }: Gathered, located: Located, schemas: Schemas) {
    this.parts = [...parts.values()];
    this.besideNull = besideNull;
    this.located = located;
    this.#schemas = schemas;
  }

  get place(): ContractPlace {
    return this.located.place;
  }

  /** What is left of it once each of its choices is made. */
  with(made: readonly Located[]): Schema {
    const own = this.parts.map(({ located }) =>
      this.#schemas.without(located, ['oneOf', 'anyOf', 'allOf', 'discriminator']),
    );
    return this.#schemas.all([...own, ...made]);
  }

  /** What is left of it for one type. */
  narrowed(type: JsonType, without: readonly string[]): Schema {
    const own = this.parts.map(({ located }) => this.#schemas.without(located, ['allOf', ...without]));
    return this.#schemas.all([...own, { value: only[type], place: this.place }]);
  }

  /** What the value of a `mapping` leads to. */
  named(target: Located): Schema | undefined {
    return this.#schemas.named(target);
  }

  /** The named schemas that add to this one, or to the one with the discriminator, unless this is one of those. */
  get heirs(): ReadonlyMap<string, Located> {
    const [own] = this.parts;
    return this.#schemas.heirs.of(this.isHeir ? own?.map : this.#base?.map);
  }

  /** Whether its discriminator stands in what it adds to: it does not choose from its siblings then. */
  get isHeir(): boolean {
    const [own] = this.parts;
    if (own === this.#base) return false;
    const siblings = [...this.#schemas.heirs.of(this.#base?.map).values()];
    return siblings.some((heir) => this.#schemas.of(heir).parts[0] === own);
  }

  get #base(): Part | undefined {
    return this.parts.find(({ map }) => map['discriminator'] !== undefined);
  }

  /** What the parts say together. */
  get view(): View {
    this.#view ??= viewOf(this, this.#schemas);
    return this.#view;
  }
}

/** What is found where a schema is put together. */
export interface Gathered {
  readonly parts: Map<JsonMap, Part>;
  readonly besideNull: Set<JsonMap>;
}

const only: Readonly<Record<JsonType, JsonMap>> = {
  boolean: { type: 'boolean' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  string: { type: 'string' },
  array: { type: 'array' },
  object: { type: 'object' },
};
