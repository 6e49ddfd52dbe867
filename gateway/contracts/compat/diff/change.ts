import type { Located } from '../../../contract/document/located.ts';
import type { Direction } from '../../../contract/routes.ts';
import { isDocs, isEqual } from '../../../contract/schema/keywords.ts';
import { isMap } from '../../../shared/json.ts';

/** The kinds of changes and their effects. Rules apply to a kind, an effect and a direction. */
export interface Effects {
  route: 'added' | 'removed';
  /** The names of path parameters. */
  path_name: 'changed';
  /** The path of the servers, which precedes the path of a route. */
  base_path: 'changed';
  parameter: 'added' | 'added_required' | 'removed' | 'required' | 'optional';
  /** `style`, `explode`, `encoding`, or `content` instead of `schema`: the same value is written differently. */
  serialization: 'changed';
  body: 'added' | 'added_required' | 'removed' | 'required' | 'optional';
  media_type: 'added' | 'removed';
  status: 'added' | 'removed';
  /** A status from 400 on, or `default`. */
  error_status: 'added' | 'removed';
  header: 'added' | 'removed' | 'required' | 'optional';
  security: 'changed';
  docs: 'changed';
  type: 'wider' | 'narrower' | 'changed';
  null: 'added' | 'removed';
  /** `refused`: removed from an object that accepts no other fields. */
  field: 'added' | 'added_required' | 'removed' | 'refused';
  /** Whether a field is required. */
  presence: 'required' | 'optional';
  /** Values of an `enum` or `const`. */
  value: 'added' | 'removed';
  /** `listed`: an `enum` was added. `unlisted`: it was removed. */
  values: 'listed' | 'unlisted';
  /** Lengths, ranges, patterns, conditions, and whether other fields are allowed. */
  limit: 'wider' | 'narrower' | 'changed';
  alternative: 'added' | 'removed';
  structure: 'changed' | 'equivalent';
  default: 'changed';
}

export type Kind = keyof Effects;

/** One difference between two contracts. Routes that share a component share its changes. */
export type Change = { readonly [K in Kind]: ChangeOf<K> }[Kind];

export interface ChangeOf<K extends Kind> {
  readonly kind: K;
  readonly effect: Effects[K];
  /** Undefined if the rules do not depend on it. */
  readonly direction: Direction | undefined;
  /** The name of the field, parameter, status, header, media type, keyword or alternative; empty if not needed. */
  readonly name: string;
  /** Facts that do not fit into a name. */
  readonly detail?: ChangeDetail;
  /** The places in the old and the new contract; undefined if there is none. */
  readonly old: Located | undefined;
  readonly new: Located | undefined;
}

export type ChangeDetail =
  | { readonly is: 'parameter'; readonly in: string }
  /** Values of an `enum`, as JSON. */
  | { readonly is: 'values'; readonly values: readonly string[] }
  | { readonly is: 'keywords'; readonly keywords: readonly string[] }
  /** A value in the mapping of a discriminator. */
  | { readonly is: 'mapping'; readonly value: string }
  | { readonly is: 'status'; readonly status: string }
  /** The names of path parameters. */
  | { readonly is: 'names'; readonly old: readonly string[]; readonly new: readonly string[] }
  | { readonly is: 'base paths'; readonly old: readonly string[]; readonly new: readonly string[] }
  | { readonly is: 'serialization'; readonly old: Serialization; readonly new: Serialization }
  /** Alternatives without a name. */
  | { readonly is: 'alternatives'; readonly alternatives: readonly AlternativeOutline[] }
  /**
   * Why an alternative no longer fits: the first breaking change between it and the alternative of the other contract that is
   * closest to it.
   */
  | { readonly is: 'cause'; readonly change: Change; readonly steps: readonly PathStep[] };

/** How a parameter or header is written. `none`: the contract does not describe it. `plain`: a single value, written alike in each style. */
export type Serialization = 'none' | 'plain' | 'content' | { readonly style: string; readonly isExploded: boolean };

/** What identifies an alternative without a name: its values, or its types and first fields. */
export interface AlternativeOutline {
  /** As JSON; undefined: the alternative has no `enum` or `const`. */
  readonly values: readonly string[] | undefined;
  /** Undefined: any. */
  readonly types: readonly string[] | undefined;
  readonly fields: readonly string[];
}

/** One step on the way from a route to a change: into a value, or into a part of the operation. */
export type PathStep =
  /** `*`: any field that `properties` does not list. */
  | { readonly kind: 'field'; readonly name: string }
  /** Undefined index: any item. */
  | { readonly kind: 'items'; readonly index?: number }
  | PartStep;

/** A step into a part of an operation or of a schema, not into a value. */
export type PartStep =
  | { readonly kind: 'request_body' }
  | { readonly kind: 'response'; readonly status: string }
  | { readonly kind: 'header'; readonly name: string }
  | { readonly kind: 'parameter'; readonly in: string; readonly name: string }
  | { readonly kind: 'media_type'; readonly type: string }
  | { readonly kind: 'callback'; readonly method: string; readonly path: string }
  /** Its title, the name of its schema, or the keyword of the choice. */
  | { readonly kind: 'alternative'; readonly name: string }
  /** `name`: the keyword and the name below it, such as `dependentSchemas/card`. */
  | { readonly kind: 'condition'; readonly name: string };

/** The differences between two things, and the comparisons of their parts. Parts may be shared and recursive. */
export interface Comparison {
  readonly changes: Change[];
  /** `step`: from the whole to the part. Undefined: both have the same path, such as a parameter and its schema. */
  readonly parts: { readonly step: PathStep | undefined; readonly comparison: Comparison }[];
  /** False during the comparison: a recursive schema contains its own comparison. */
  isFinished: boolean;
}

/** `error`: breaking. `warn`: may break clients. `info`: compatible. */
export type Severity = 'error' | 'warn' | 'info';

/** Rates changes, so that the diff can choose between several ways to pair alternatives. The rules provide it. */
export type SeverityOf = (change: Change) => Severity;

export function emptyComparison(): Comparison {
  return { changes: [], parts: [], isFinished: false };
}

/** A finished comparison with one change. */
export function comparisonWithOneChange(change: Change): Comparison {
  return { changes: [change], parts: [], isFinished: true };
}

/** Used instead of a step if the part is at the same place as the whole. */
export const samePlace = undefined;

/** Adds the comparison of a part, unless it is known to be without changes. */
export function addPart(whole: Comparison, step: PathStep | undefined, comparison: Comparison | undefined): void {
  if (comparison === undefined) return;
  const { isFinished, changes, parts } = comparison;
  if (!isFinished || changes.length > 0 || parts.length > 0) whole.parts.push({ step, comparison });
}

/** A change to add. `direction`, `name` and `detail` may be omitted. */
type NewChange = {
  readonly [K in Kind]: Pick<ChangeOf<K>, 'kind' | 'effect' | 'old' | 'new'> &
    Partial<Pick<ChangeOf<K>, 'direction' | 'name' | 'detail'>>;
}[Kind];

export function addChange(into: Comparison, change: NewChange): void {
  into.changes.push({ direction: undefined, name: '', ...change });
}

/** Adds one change that lists the descriptive keywords whose values differ. */
export function compareDescriptions(old: Located, now: Located, into: Comparison): void {
  if (!isMap(old.value) || !isMap(now.value)) return;
  const [before, after] = [old.value, now.value];
  const keywords: string[] = [];
  for (const key of Object.keys(before)) if (isDocs(key) && !isEqual(before[key], after[key])) keywords.push(key);
  for (const key of Object.keys(after)) if (isDocs(key) && before[key] === undefined) keywords.push(key);
  if (keywords.length === 0) return;
  keywords.sort();
  addChange(into, { kind: 'docs', effect: 'changed', detail: { is: 'keywords', keywords }, old, new: now });
}

/** Adds a change of documentation if the values of a keyword differ. */
export function compareAsDescription(keyword: string, old: Located, now: Located, into: Comparison): void {
  if (!isEqual(old.value, now.value))
    addChange(into, { kind: 'docs', effect: 'changed', name: keyword, old, new: now });
}

/** The number of breaking changes in a comparison and its parts. For an unfinished part, counts the changes found so far. */
export function countBreaking(comparison: Comparison, severityOf: SeverityOf): number {
  return countChanges(comparison, (change) => severityOf(change) === 'error');
}

export function isCompatible(comparison: Comparison, severityOf: SeverityOf): boolean {
  return countChanges(comparison, (change) => severityOf(change) !== 'info') === 0;
}

/** Whether nothing but descriptions differs. */
export function isUnchanged(comparison: Comparison): boolean {
  return countChanges(comparison, ({ kind }) => kind !== 'docs') === 0;
}

function countChanges(comparison: Comparison, isCounted: (change: Change) => boolean): number {
  const seen = new Set<Comparison>([comparison]);
  let count = 0;
  // The set grows during the loop.
  for (const one of seen) {
    count += one.changes.filter(isCounted).length;
    for (const part of one.parts) seen.add(part.comparison);
  }
  return count;
}

/** The breaking change that is the fewest steps away, and the steps to it. */
export function firstBreaking(
  comparison: Comparison,
  severityOf: SeverityOf,
): { change: Change; steps: readonly PathStep[] } | undefined {
  const seen = new Map<Comparison, readonly PathStep[]>([[comparison, []]]);
  // The map grows during the loop.
  for (const [one, steps] of seen) {
    const change = one.changes.find((each) => severityOf(each) === 'error');
    if (change) return { change, steps };
    for (const part of one.parts) {
      if (!seen.has(part.comparison)) seen.set(part.comparison, part.step ? [...steps, part.step] : steps);
    }
  }
  return undefined;
}
