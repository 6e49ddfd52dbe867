import type { Fault } from '../fault.ts';
import type { ReferencedFiles } from '../referencedFiles.ts';
import type { RouteValues } from '../schema/routes.ts';
import type { ApiHead, ConfigValues, SchemaNode } from '../schema.ts';
import type { Contract, UnusableContract } from '../snapshot.ts';
import type { Source } from '../source.ts';

/** Returns the faults of a document. The schema reports wrong types. Never throws. `now`: epoch ms. */
export type ConfigRule = (context: RuleContext, now: number) => Fault[];

export interface RuleContext {
  /** The document: the whole file for the API at the root, else the API with what it inherits. */
  readonly source: Source;
  /** '' for the API at the root. */
  readonly base: string;
  /** The contexts of all APIs of the file, by base. */
  readonly apis: ReadonlyMap<string, RuleContext>;
  /** The JSON Schema of the whole file, in which rules look for unknown keys. Undefined if the file has no unknown key. */
  readonly schema: SchemaNode | undefined;
  /** The values in the file. A value of a wrong type is left out, although `hasValue(source, path)` is true for it. */
  readonly config: ConfigValues;
  /** The routes with a valid prefix, lowest major first. */
  readonly entries: readonly RouteEntry[];
  readonly files: ReferencedFiles;
  /** What an API below `apis` says about itself. */
  readonly head: ApiHead | undefined;
  /** The key of a route (`/v1`) → its contract. */
  readonly contracts: ReadonlyMap<string, Contract | UnusableContract>;
}

export interface RouteEntry {
  /** As in the file: `/v1`. */
  readonly key: string;
  /** The id: `v1`, `orders/v1`. */
  readonly name: string;
  readonly major: number;
  readonly route: RouteValues;
}

/** Returns warnings about a file that works, but probably not as intended. `now` in epoch milliseconds. */
export type WarningRule = (context: RuleContext, now: number) => Fault[];

/** Whether a version is in service at `now`: it is not retired, and not past a sunset with `after_sunset: gone`. */
export function isInService({ route }: RouteEntry, now: number): boolean {
  const isGone = route.after_sunset === 'gone' && route.sunset !== undefined && route.sunset <= now;
  return !route.retired && !isGone;
}

/** Whether clients of this version should move to another API. Only warnings look at the successor then. */
export function leavesApi({ route }: RouteEntry): boolean {
  return route.successor !== undefined && route.successor.lastIndexOf('/') > 0;
}

/** The configured successor of `entry` within its API, else the next higher major. The result may be retired. */
export function successorEvenIfRetired(
  entry: RouteEntry,
  { entries }: Pick<RuleContext, 'entries'>,
): RouteEntry | undefined {
  const { successor } = entry.route;
  if (successor !== undefined) return entries.find(({ key }) => key === successor);
  return entries[entries.indexOf(entry) + 1];
}

/** The version that clients of `entry` should move to: the next one for which `isServed` is true. */
export function successorEntry(
  entry: RouteEntry,
  context: Pick<RuleContext, 'entries'>,
  isServed: (entry: RouteEntry) => boolean,
): RouteEntry | undefined {
  let next = successorEvenIfRetired(entry, context);
  while (next && !isServed(next)) {
    const following = successorEvenIfRetired(next, context);
    // In a faulty file, successors may form a cycle. So the search ends at a successor that is not a higher major.
    next = following && following.major > next.major ? following : undefined;
  }
  return next;
}
