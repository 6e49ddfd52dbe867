import { isWithin, type JsonType } from './jsonTypes.ts';
import type { Schema } from './schema.ts';
import type { View } from './view.ts';

// Alternatives of alternatives of alternatives: what is nested deeper may be anything.
const deepest = 8;

/** The types of whatever fulfils a schema, told from its alternatives where it does not say; undefined: any. */
export function unionOfTypes(schema: Schema, depth = 0): ReadonlySet<JsonType> | undefined {
  const { types, groups } = schema.view;
  const [group] = groups;
  if (group === undefined || depth > deepest) return types;
  const union = new Set<JsonType>();
  for (const alternative of group.alternatives) {
    const some = unionOfTypes(alternative.schema, depth + 1);
    if (some === undefined) return types;
    for (const type of some) union.add(type);
  }
  return types === undefined || isWithin(union, types) ? union : types;
}

/** Whether a schema leaves the type open, null included. */
export function isAnything({ types, groups, isNothing }: View): boolean {
  return types === undefined && groups.length === 0 && !isNothing;
}

/** Whether null fulfils a schema, be it by one of its alternatives. */
export function takesNull({ view }: Schema, depth = 0): boolean {
  if (view.nullable || isAnything(view)) return true;
  if (view.types !== undefined || depth > deepest) return false;
  return view.groups.every(({ alternatives }) => alternatives.some(({ schema }) => takesNull(schema, depth + 1)));
}
