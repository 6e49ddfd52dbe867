import { isList, isMap } from '../document/located.ts';

/** What stands at a path; of a list, in its first item. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const key of path) {
    if (isList(at)) at = key.startsWith('[') ? at[0] : undefined;
    else at = isMap(at) ? ownOf(at, key) : undefined;
  }
  return at;
}

export function ownOf(map: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}
