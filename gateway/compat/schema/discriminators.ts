import type { Documents } from '../document/documents.ts';
import { below, entriesOf, itemsOf, type Located, refOf } from '../document/located.ts';
import { CompareError } from '../failure.ts';
import type { Alternative, Schema, View } from './schema.ts';

/**
 * The named schemas that extend another one by `allOf`. They are the implicit alternatives of a base schema with a
 * discriminator, and the name of each is its value of the discriminator.
 */
export class DiscriminatorSubtypes {
  readonly #documents: Documents;
  #direct: Map<unknown, Located[]> | undefined;

  constructor(documents: Documents) {
    this.#documents = documents;
  }

  /** By name, with the subtypes of subtypes. `parent`: one of the named schemas. */
  of(parent: unknown): ReadonlyMap<string, Located> {
    this.#direct ??= this.#findDirect();
    const subtypes = new Map<string, Located>();
    const waiting = [...(this.#direct.get(parent) ?? [])];
    for (let subtype = waiting.pop(); subtype !== undefined; subtype = waiting.pop()) {
      if (subtypes.has(subtype.place.key) || subtype.value === parent) continue;
      subtypes.set(subtype.place.key, subtype);
      waiting.push(...(this.#direct.get(this.#target(subtype)?.value) ?? []));
    }
    return subtypes;
  }

  #findDirect(): Map<unknown, Located[]> {
    const direct = new Map<unknown, Located[]>();
    for (const [, named] of entriesOf(below(below(this.#documents.root, 'components'), 'schemas'))) {
      const subtype = this.#target(named);
      for (const one of subtype ? itemsOf(below(subtype, 'allOf')) : []) {
        const parent = refOf(one.value) === undefined ? undefined : this.#target(one);
        if (parent) direct.set(parent.value, [...(direct.get(parent.value) ?? []), named]);
      }
    }
    return direct;
  }

  /** Undefined for a broken `$ref`. It is reported where the comparison reads it. */
  #target(located: Located): Located | undefined {
    try {
      return this.#documents.resolve(located);
    } catch (error) {
      if (error instanceof CompareError) return undefined;
      throw error;
    }
  }
}

/** The `mapping` of the discriminator: its values and their targets. */
export function mappingOf(view: View): ReadonlyMap<string, Located> {
  const discriminator = view.at('discriminator');
  return new Map(discriminator ? entriesOf(below(discriminator, 'mapping')) : []);
}

/** `#/components/schemas/Cat` and `Cat` are the same target. */
export function nameOf(target: unknown): string {
  return String(target).replace(/^.*\//s, '');
}

/** The schemas that the discriminator chooses from, by name. */
export function targetsOf(schema: Schema): ReadonlyMap<string, Located> {
  if (schema.view.choices.length === 0) {
    const mapped = schema.isSubtype ? [] : [...mappingOf(schema.view).values()];
    return new Map([...schema.subtypes, ...mapped.map((target) => [nameOf(target.value), target] as const)]);
  }
  return new Map(
    alternativesOf(schema).flatMap(({ ref, at }) => (ref === undefined ? [] : [[nameOf(ref), at] as const])),
  );
}

/** The values of the discriminator: those in the mapping, and the name of each alternative that the mapping omits. */
export function discriminatorValuesOf(schema: Schema): ReadonlyMap<string, Located> {
  const mapping = mappingOf(schema.view);
  const mapped = new Set([...mapping.values()].map(({ value }) => nameOf(value)));
  const names = alternativesOf(schema)
    .filter((one) => isChosenByName(one, schema) && !mapped.has(nameOf(one.ref)))
    .map(({ ref = '', at }) => [nameOf(ref), { ...at, value: ref }] as const);
  return new Map([...names, ...mapping]);
}

/** Only components have names. Where the discriminating field has an `enum`, its values are sent instead. */
function isChosenByName({ ref, schema }: Alternative, whole: Schema): boolean {
  if (ref === undefined || !/#\/components\/schemas\/[^/]+$/.test(ref)) return false;
  const discriminator = whole.view.at('discriminator');
  const field = schema.view.properties.get(String(discriminator && below(discriminator, 'propertyName').value));
  return field?.schema.view.values === undefined;
}

function alternativesOf({ view }: Schema): Alternative[] {
  return view.choices.flatMap(({ alternatives }) => alternatives);
}
