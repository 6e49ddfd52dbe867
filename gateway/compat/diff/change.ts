import type { Located } from '../document/located.ts';

/** `request`: towards the API. `response`: from it. For webhooks and callbacks, the API sends the requests. */
export type Direction = 'request' | 'response';

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
  /** The `enum` as a whole. */
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
  /** Undefined where it makes no difference. */
  readonly direction: Direction | undefined;
  /** The name of the field, parameter, status, header, media type, keyword or alternative; empty: the place says it. */
  readonly name: string;
  /** Facts that do not fit into a name. */
  readonly detail?: ChangeDetail;
  /** The location on either side; undefined where there is none. */
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
  /** The first breaking change between the two alternatives that are closest to each other. */
  | { readonly is: 'cause'; readonly change: Change; readonly steps: readonly Step[] };

/** How a parameter or header is written. `plain`: a single value, for which the style makes no difference. */
export type Serialization = 'none' | 'plain' | 'content' | { readonly style: string; readonly isExploded: boolean };

/** What identifies an alternative without a name: its values, or its types and first fields. */
export interface AlternativeOutline {
  /** As JSON; undefined: it lists none. */
  readonly values: readonly string[] | undefined;
  /** Undefined: any. */
  readonly types: readonly string[] | undefined;
  readonly fields: readonly string[];
}

/** One step on the way from a route to a change. */
export interface Step {
  /** A `field` continues the name of the step before it (`drinks[].price`), a `part` starts a new one. */
  readonly kind: 'part' | 'field' | 'items';
  readonly text: string;
}

/** The differences between two things, and the comparisons of their parts. Parts may be shared and recursive. */
export interface Comparison {
  readonly changes: Change[];
  readonly parts: { readonly step: Step | undefined; readonly comparison: Comparison }[];
  /** False while it is computed: a recursive schema contains its own comparison. */
  isDone: boolean;
}

/** `error`: breaking. `warn`: may break clients. `info`: compatible. */
export type Severity = 'error' | 'warn' | 'info';

/** Rates changes where the diff chooses between several ways to pair alternatives. The rules provide it. */
export type SeverityOf = (change: Change) => Severity;
