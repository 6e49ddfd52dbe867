import { below, entriesOf, type Located } from '../document/located.ts';
import type { Alternative } from './groups.ts';
import type { Schema } from './schema.ts';
import type { View } from './view.ts';

/** The values that a discriminator lists, and what each of them leads to. */
export function mappingOf(view: View): ReadonlyMap<string, Located> {
  const discriminator = view.at('discriminator');
  return new Map(discriminator ? entriesOf(below(discriminator, 'mapping')) : []);
}

/** `#/components/schemas/Cat` and `Cat` mean the same. */
export function nameOf(target: unknown): string {
  return String(target).replace(/^.*\//s, '');
}

/** The schemas that the discriminator chooses from, by their names. */
export function targetsOf(schema: Schema): ReadonlyMap<string, Located> {
  if (schema.view.groups.length === 0) {
    const mapped = schema.isHeir ? [] : [...mappingOf(schema.view).values()];
    return new Map([...schema.heirs, ...mapped.map((target) => [nameOf(target.value), target] as const)]);
  }
  return new Map(
    alternativesOf(schema).flatMap(({ ref, at }) => (ref === undefined ? [] : [[nameOf(ref), at] as const])),
  );
}

/** The values that a choice is made by: those that are listed, and the name of each alternative that none of them leads to. */
export function valuesOf(schema: Schema): ReadonlyMap<string, Located> {
  const listed = mappingOf(schema.view);
  const reached = new Set([...listed.values()].map(({ value }) => nameOf(value)));
  const names = alternativesOf(schema)
    .filter((one) => isToldByName(one, schema) && !reached.has(nameOf(one.ref)))
    .map(({ ref = '', at }) => [nameOf(ref), { ...at, value: ref }] as const);
  return new Map([...names, ...listed]);
}

/** Only components have names, and where the field lists its values, those are what is sent. */
function isToldByName({ ref, schema }: Alternative, whole: Schema): boolean {
  if (ref === undefined || !/#\/components\/schemas\/[^/]+$/.test(ref)) return false;
  const discriminator = whole.view.at('discriminator');
  const field = schema.view.properties.get(String(discriminator && below(discriminator, 'propertyName').value));
  return field?.schema.view.values === undefined;
}

function alternativesOf({ view }: Schema): Alternative[] {
  return view.groups.flatMap(({ alternatives }) => alternatives);
}
