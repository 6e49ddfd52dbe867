import { isWithin, type JsonType } from './jsonTypes.ts';
import type { Schema } from './schema.ts';
import type { View } from './view.ts';

/**
 * The types of whatever fulfils a schema, told from its alternatives where it does not say; undefined: any. `seen`: what
 * led here, or was here before. An alternative that leads back adds nothing, and choices within choices come to millions of
 * ways.
 */
export function unionOfTypes(
  schema: Schema,
  seen = new Map<Schema, ReadonlySet<JsonType> | undefined>(),
): ReadonlySet<JsonType> | undefined {
  if (seen.has(schema)) return seen.get(schema);
  const { types, groups } = schema.view;
  const [group] = groups;
  seen.set(schema, group === undefined ? types : none);
  if (group === undefined) return types;
  const union = new Set<JsonType>();
  let isAny = false;
  for (const alternative of group.alternatives) {
    const some = unionOfTypes(alternative.schema, seen);
    if (some === undefined) isAny = true;
    else for (const type of some) union.add(type);
  }
  const reached = !isAny && (types === undefined || isWithin(union, types)) ? union : types;
  seen.set(schema, reached);
  return reached;
}

const none: ReadonlySet<JsonType> = new Set();

/** Whether a schema leaves the type open, null included. */
export function isAnything({ types, groups, isNothing }: View): boolean {
  return types === undefined && groups.length === 0 && !isNothing;
}

/** Whether null fulfils a schema, be it by one of its alternatives. `seen`: as above. */
export function takesNull(schema: Schema, seen = new Map<Schema, boolean>()): boolean {
  const known = seen.get(schema);
  if (known !== undefined) return known;
  const { view } = schema;
  const isPlain = view.nullable || isAnything(view);
  seen.set(schema, isPlain);
  if (isPlain || view.types !== undefined) return isPlain;
  const takes = view.groups.every(({ alternatives }) => alternatives.some((one) => takesNull(one.schema, seen)));
  seen.set(schema, takes);
  return takes;
}
