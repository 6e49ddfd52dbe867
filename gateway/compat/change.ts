import type { Located } from './document/located.ts';

/** Which way something goes: `request` into the API, `response` out of it. */
export type Direction = 'request' | 'response';

/** What can happen to what. Rules are told apart by this alone. */
export interface Effects {
  route: 'added' | 'removed';
  path_name: 'changed';
  /** The path of the servers, which stands in front of that of a route. */
  base_path: 'changed';
  parameter: 'added' | 'added_required' | 'removed' | 'required' | 'optional';
  /** `style`, `explode`, `encoding`, or `schema` against `content`: the same value is written in another way. */
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
  /** `refused`: removed where no other field than those named is let through. */
  field: 'added' | 'added_required' | 'removed' | 'refused';
  /** Of a field: whether it has to be there. */
  presence: 'required' | 'optional';
  /** Of an `enum` or `const`. */
  value: 'added' | 'removed';
  /** Whether there is an `enum` at all. */
  values: 'listed' | 'unlisted';
  /** Lengths, ranges, patterns, whether more fields are allowed, conditions. */
  limit: 'wider' | 'narrower' | 'changed';
  alternative: 'added' | 'removed';
  structure: 'changed' | 'equivalent';
  default: 'changed';
}

export type Kind = keyof Effects;

/** One thing that is different, wherever it is used. */
export type Change = { readonly [K in Kind]: ChangeOf<K> }[Kind];

export interface ChangeOf<K extends Kind> {
  readonly kind: K;
  readonly effect: Effects[K];
  /** Undefined where it makes no difference. */
  readonly direction: Direction | undefined;
  /** What it is about: a field, a keyword, a status; empty where the place says it all. */
  readonly name: string;
  /** What was there, and is; undefined where there is or was nothing. */
  readonly old: Located | undefined;
  readonly new: Located | undefined;
}

/** What the change is a part of, as a reader of the contract would say it. */
export interface Step {
  /** A `field` goes on in the name of the one before it (`drinks[].price`), a `part` stands by itself. */
  readonly kind: 'part' | 'field' | 'items';
  readonly text: string;
}

/** Two things held against each other: what differs in themselves, and the comparisons of what they consist of. */
export interface Comparison {
  readonly changes: Change[];
  readonly parts: { readonly step: Step | undefined; readonly comparison: Comparison }[];
  /** False while it is under way, which it may be within itself. */
  isDone: boolean;
}

export function emptyComparison(): Comparison {
  return { changes: [], parts: [], isDone: false };
}

/** Puts the comparison of a part into that of the whole, unless nothing differs in it. */
export function addPart(whole: Comparison, step: Step | undefined, comparison: Comparison | undefined): void {
  if (comparison === undefined) return;
  const { isDone, changes, parts } = comparison;
  if (!isDone || changes.length > 0 || parts.length > 0) whole.parts.push({ step, comparison });
}
