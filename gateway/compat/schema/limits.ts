import { below, isMap, type Located } from '../document/located.ts';
import { canonical } from './canonical.ts';
import type { Sayings } from './held.ts';

/** An end of a range. */
export interface Bound {
  readonly value: number;
  /** The end itself does not belong to the range. */
  readonly isExclusive: boolean;
}

export interface Limit<T> {
  readonly is: T;
  readonly at: Located;
}

/** What keeps values small. Of several that hold at once, the one that leaves the least. */
export interface Limits {
  readonly lower: Limit<Bound> | undefined;
  readonly upper: Limit<Bound> | undefined;
  /** `minLength`, `maxItems` and their like. */
  readonly counts: ReadonlyMap<string, Limit<number>>;
  /** `pattern`, `format` and their like: what each part of the schema says, as JSON. */
  readonly texts: ReadonlyMap<string, Limit<ReadonlySet<string>>>;
}

export const minimums = ['minLength', 'minItems', 'minProperties', 'minContains'] as const;
export const maximums = ['maxLength', 'maxItems', 'maxProperties', 'maxContains'] as const;
const texts = ['pattern', 'format', 'multipleOf', 'uniqueItems', 'contentEncoding', 'contentMediaType'] as const;

const unlimited: Limits = { lower: undefined, upper: undefined, counts: new Map(), texts: new Map() };
const keywords: ReadonlySet<string> = new Set([
  ...['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum'],
  ...[...minimums, ...maximums, ...texts],
]);

export function limitsOf(parts: readonly { readonly located: Located }[], said: Sayings): Limits {
  if (![...said.keys()].some((keyword) => keywords.has(keyword))) return unlimited;
  const counts = new Map<string, Limit<number>>();
  for (const keyword of minimums) count(keyword, said, Math.max, counts);
  for (const keyword of maximums) count(keyword, said, Math.min, counts);
  let lower: Limit<Bound> | undefined;
  let upper: Limit<Bound> | undefined;
  const isRange = ['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum'].some((keyword) => said.has(keyword));
  for (const { located } of isRange ? parts : []) {
    lower = tighter(lower, boundOf(located, 'minimum', 'exclusiveMinimum'), 1);
    upper = tighter(upper, boundOf(located, 'maximum', 'exclusiveMaximum'), -1);
  }
  return { lower, upper, counts, texts: textsOf(said) };
}

function textsOf(said: Sayings): Map<string, Limit<Set<string>>> {
  const words = new Map<string, Limit<Set<string>>>();
  for (const keyword of texts) {
    for (const at of said.get(keyword) ?? []) {
      if (at.value === null || at.value === false || isTrivial(keyword, at.value)) continue;
      const encoding = keyword === 'format' ? encodings.get(at.value) : undefined;
      const [name, word] = encoding === undefined ? [keyword, at.value] : ['contentEncoding', encoding];
      const known = words.get(name);
      if (known) known.is.add(canonical(word));
      else words.set(name, { is: new Set([canonical(word)]), at });
    }
  }
  return words;
}

// OpenAPI 3.0 calls `format` what is `contentEncoding` since 3.1.
const encodings: ReadonlyMap<unknown, string> = new Map([
  ['byte', 'base64'],
  ['base64url', 'base64url'],
]);

/** A pattern that every text matches. */
function isTrivial(keyword: string, value: unknown): boolean {
  return keyword === 'pattern' && ['', '.*', '^.*$', '^', '$'].includes(String(value));
}

/** OpenAPI 3.0 says with a boolean that an end is excluded, JSON Schema since draft 6 with the number itself. */
function boundOf(part: Located, keyword: string, exclusiveKeyword: string): Limit<Bound> | undefined {
  if (!isMap(part.value)) return undefined;
  const { [keyword]: plain, [exclusiveKeyword]: exclusive } = part.value;
  const inclusive = typeof plain === 'number' ? plain : undefined;
  if (typeof exclusive !== 'number') {
    return inclusive === undefined
      ? undefined
      : { is: { value: inclusive, isExclusive: exclusive === true }, at: below(part, keyword) };
  }
  const own = { is: { value: exclusive, isExclusive: true }, at: below(part, exclusiveKeyword) };
  if (inclusive === undefined) return own;
  const other = { is: { value: inclusive, isExclusive: false }, at: below(part, keyword) };
  return tighter(own, other, keyword === 'minimum' ? 1 : -1);
}

/** `sign` 1: of two lower ends; -1: of two upper ones. Positive where `b` leaves less than `a`. */
export function compareBounds(a: Bound, b: Bound, sign: 1 | -1): number {
  return sign * (b.value - a.value) || Number(b.isExclusive) - Number(a.isExclusive);
}

function tighter(a: Limit<Bound> | undefined, b: Limit<Bound> | undefined, sign: 1 | -1): Limit<Bound> | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compareBounds(a.is, b.is, sign) > 0 ? b : a;
}

function count(
  keyword: string,
  said: Sayings,
  pick: (a: number, b: number) => number,
  counts: Map<string, Limit<number>>,
): void {
  for (const at of said.get(keyword) ?? []) {
    if (typeof at.value !== 'number') continue;
    const known = counts.get(keyword);
    if (known === undefined || pick(known.is, at.value) !== known.is) counts.set(keyword, { is: at.value, at });
  }
}
