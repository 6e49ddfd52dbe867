import type { Route } from './diff/routes.ts';
import type { ContractPlace } from './document/located.ts';
import type { Level, RuleId } from './rules/rules.ts';

/** One of the two sides of a finding. */
export interface Site {
  readonly place: ContractPlace;
  /** Undefined: nothing stands there. */
  readonly value: unknown;
}

export type RouteName = Pick<Route, 'kind' | 'method' | 'path'>;

/** What a rule says of one change. */
export interface Finding {
  readonly rule: RuleId;
  readonly level: Exclude<Level, 'off'>;
  /** "GET /drinks: response 200 field `price` was a string and is now a number". */
  readonly sentence: string;
  /** "response 200 field `price`"; empty for a route as a whole. */
  readonly subject: string;
  /** All that it reaches; none where it belongs to no route. */
  readonly routes: readonly RouteName[];
  readonly old: Site | undefined;
  readonly new: Site | undefined;
  /** The same for the same change, wherever it stands in the file. 16 hexadecimal digits. */
  readonly fingerprint: string;
  /** What may have happened, as a guess: "looks renamed to `total`". */
  readonly hint: string | undefined;
}
