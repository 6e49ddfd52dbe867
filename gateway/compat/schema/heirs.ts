import type { Documents } from '../document/documents.ts';
import { below, entriesOf, itemsOf, type Located, refOf } from '../document/located.ts';
import { CompareError } from '../failure.ts';

/**
 * Which named schemas add to another one by their `allOf`. Where that has a discriminator, they are what it may come
 * down to, without being listed anywhere: the name of each is the value that stands for it.
 */
export class Heirs {
  readonly #documents: Documents;
  #direct: Map<unknown, Located[]> | undefined;

  constructor(documents: Documents) {
    this.#documents = documents;
  }

  /** By name, with the heirs of heirs; `parent` is one of the named schemas. */
  of(parent: unknown): ReadonlyMap<string, Located> {
    this.#direct ??= this.#gather();
    const heirs = new Map<string, Located>();
    const waiting = [...(this.#direct.get(parent) ?? [])];
    for (let heir = waiting.pop(); heir !== undefined; heir = waiting.pop()) {
      if (heirs.has(heir.place.key) || heir.value === parent) continue;
      heirs.set(heir.place.key, heir);
      waiting.push(...(this.#direct.get(this.#target(heir)?.value) ?? []));
    }
    return heirs;
  }

  #gather(): Map<unknown, Located[]> {
    const direct = new Map<unknown, Located[]>();
    for (const [, named] of entriesOf(below(below(this.#documents.root, 'components'), 'schemas'))) {
      const heir = this.#target(named);
      for (const one of heir ? itemsOf(below(heir, 'allOf')) : []) {
        const parent = refOf(one.value) === undefined ? undefined : this.#target(one);
        if (parent) direct.set(parent.value, [...(direct.get(parent.value) ?? []), named]);
      }
    }
    return direct;
  }

  /** A `$ref` that leads nowhere is told where somebody needs it. */
  #target(located: Located): Located | undefined {
    try {
      return this.#documents.resolve(located);
    } catch (error) {
      if (error instanceof CompareError) return undefined;
      throw error;
    }
  }
}
