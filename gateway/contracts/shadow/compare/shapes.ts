import { isList } from '../../../contract/document/located.ts';
import { isMap, type JsonMap } from '../../../shared/json.ts';
import type { EvidenceRow } from '../../../usage/usageRow.ts';
import type { BodyPath } from './paths.ts';
import { shapeTypeOf } from './validation.ts';

/**
 * What an observation is about:
 * - `pair`: the pair itself; detail is `body`, or why the bodies were not compared. If paths were left out, a second observation has the
 *   detail `more paths`
 * - `status`, `media`: detail is the status or the media type
 * - `syntax`: the body is not JSON
 * - `value`: a field exists and is not null, a map has an entry that is not null, or a list has an item
 * - `null`: a field exists and is null
 * - `type`: detail is the type
 * - `invalid`: a body violates the contract of its version; here and below, detail is the `rule` of the `Violation`
 * - `changed`: the old or the new body violates the old contract. For the new body, paths at which it also violates the new
 *   contract are left out
 * - `narrowed`: the old body has a type that the new contract does not allow
 */
export type ObservedProperty =
  | 'pair'
  | 'status'
  | 'media'
  | 'syntax'
  | 'value'
  | 'null'
  | 'type'
  | 'invalid'
  | 'changed'
  | 'narrowed';

/** One property of the two responses of a pair. It contains no value of a body. */
export interface Observation extends Pick<EvidenceRow, 'oldListing' | 'newListing'> {
  /** The status of the old response; 0: the observation is about the status itself. */
  readonly status: number;
  readonly path: string;
  readonly what: ObservedProperty;
  readonly detail: string;
  /** The share of the values in the old body that have the property, 0 to 1. */
  readonly oldShare: number;
  /** The same for the new body. */
  readonly newShare: number;
}

export function addObservation(
  into: Observation[],
  one: Partial<Observation> & Pick<Observation, 'what' | 'oldShare' | 'newShare'>,
): void {
  into.push({ status: 0, path: '', detail: '', oldListing: '', newListing: '', ...one });
}

/** Compares the values that two bodies have at one path. */
export function compareShapes(
  path: BodyPath,
  oldValues: readonly unknown[],
  newValues: readonly unknown[],
  status: number,
  into: Observation[],
): void {
  const { oldListing, newListing } = path;
  const [before, after] = [oldValues, newValues].map((values) => values.filter((value) => value !== null));
  if (before === undefined || after === undefined || before.length === 0 || after.length === 0) return;
  for (const value of [...before, ...after]) path.types.add(shapeTypeOf(value));
  for (const type of path.types) {
    const share = (values: readonly unknown[]): number =>
      values.filter((value) => shapeTypeOf(value) === type).length / values.length;
    addObservation(into, {
      status,
      path: path.text,
      what: 'type',
      detail: type,
      oldListing,
      newListing,
      oldShare: share(before),
      newShare: share(after),
    });
  }
  const maps = [before, after].map((values) => values.filter(isMap)) as [JsonMap[], JsonMap[]];
  if (maps.every((list) => list.length > 0)) {
    const oldFields = fieldsOf(path, maps[0]);
    const newFields = fieldsOf(path, maps[1]);
    for (const child of path.children) {
      const fields = [oldFields.get(child), newFields.get(child)] as const;
      compareChild(child, fields, [maps[0].length, maps[1].length], status, into);
    }
  }
  const lists = [before, after].map((values) => values.filter(isList)) as [unknown[][], unknown[][]];
  const items = lists.every((list) => list.length > 0) ? path.items() : undefined;
  if (items) {
    const [oldItems, newItems] = lists.map((list) => ({
      owners: list.filter(({ length }) => length > 0).length,
      nulls: 0,
      values: list.flat(),
    }));
    compareChild(items, [oldItems, newItems], [lists[0].length, lists[1].length], status, into);
  }
}

/** The values at a path below some objects or lists. */
interface ValuesBelow {
  /** How many of the objects have a value that is not null, or how many of the lists have an item. */
  owners: number;
  /** How many of the objects have null. Always 0 at a path that ends with `*`. */
  nulls: number;
  readonly values: unknown[];
}

/** `oldCount`, `newCount`: how many objects or lists could have a value at the path. */
function compareChild(
  child: BodyPath,
  [oldValues, newValues]: readonly [ValuesBelow | undefined, ValuesBelow | undefined],
  [oldCount, newCount]: readonly [number, number],
  status: number,
  into: Observation[],
): void {
  const { oldListing, newListing } = child;
  const shared = { status, path: child.text, oldListing, newListing };
  addObservation(into, {
    ...shared,
    what: 'value',
    oldShare: (oldValues?.owners ?? 0) / oldCount,
    newShare: (newValues?.owners ?? 0) / newCount,
  });
  if ((oldValues?.nulls ?? 0) + (newValues?.nulls ?? 0) > 0) child.types.add('null');
  if (child.types.has('null'))
    addObservation(into, {
      ...shared,
      what: 'null',
      oldShare: (oldValues?.nulls ?? 0) / oldCount,
      newShare: (newValues?.nulls ?? 0) / newCount,
    });
  compareShapes(child, oldValues?.values ?? [], newValues?.values ?? [], status, into);
}

/** Path → the values that several objects have there. Several keys may have the same path, `*`. */
function fieldsOf(path: BodyPath, maps: readonly JsonMap[]): Map<BodyPath, ValuesBelow> {
  const found = new Map<BodyPath, ValuesBelow>();
  for (const map of maps) {
    const countedChildren = new Set<BodyPath>();
    for (const key of Object.keys(map)) {
      const child = path.field(key);
      if (child === undefined) continue;
      const entry = found.get(child) ?? { owners: 0, nulls: 0, values: [] };
      found.set(child, entry);
      if (map[key] === null) entry.nulls += child.text.endsWith('/*') ? 0 : 1;
      else if (!countedChildren.has(child)) {
        countedChildren.add(child);
        entry.owners += 1;
      }
      entry.values.push(map[key]);
    }
  }
  return found;
}
