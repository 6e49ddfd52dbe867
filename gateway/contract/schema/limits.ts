import { isMap } from '../../shared/json.ts';
import { below, type Located } from '../document/located.ts';
import { canonicalJson, type Keywords } from './keywords.ts';

/** One end of a range. */
export interface Bound {
  readonly value: number;
  readonly isExclusive: boolean;
}

/** A limit, and where the contract states it. */
export interface Limit<T> {
  readonly value: T;
  readonly at: Located;
}

/** Ranges, lengths and patterns. If several parts of a schema have a limit of the same kind, the strictest applies. */
export interface Limits {
  readonly lower: Limit<Bound> | undefined;
  readonly upper: Limit<Bound> | undefined;
  /** `minLength`, `maxItems` and so on. */
  readonly counts: ReadonlyMap<string, Limit<number>>;
  /** `pattern`, `format` and so on: the values of all parts of the schema, as JSON. */
  readonly jsonValues: ReadonlyMap<string, Limit<ReadonlySet<string>>>;
}

export const minimums = ['minLength', 'minItems', 'minProperties', 'minContains'] as const;
export const maximums = ['maxLength', 'maxItems', 'maxProperties', 'maxContains'] as const;
const rangeKeywords = ['minimum', 'exclusiveMinimum', 'maximum', 'exclusiveMaximum'] as const;
const jsonValueKeywords = [
  'pattern',
  'format',
  'multipleOf',
  'uniqueItems',
  'contentEncoding',
  'contentMediaType',
] as const;

const unlimited: Limits = { lower: undefined, upper: undefined, counts: new Map(), jsonValues: new Map() };
const limitKeywords: ReadonlySet<string> = new Set([...rangeKeywords, ...minimums, ...maximums, ...jsonValueKeywords]);

export function limitsOf(parts: readonly { readonly located: Located }[], keywords: Keywords): Limits {
  if (![...keywords.keys()].some((keyword) => limitKeywords.has(keyword))) return unlimited;
  const counts = new Map<string, Limit<number>>();
  for (const keyword of minimums) addCount(keyword, keywords, Math.max, counts);
  for (const keyword of maximums) addCount(keyword, keywords, Math.min, counts);
  let lower: Limit<Bound> | undefined;
  let upper: Limit<Bound> | undefined;
  const hasRange = rangeKeywords.some((keyword) => keywords.has(keyword));
  for (const { located } of hasRange ? parts : []) {
    lower = stricter(lower, boundOf(located, 'minimum', 'exclusiveMinimum'), 1);
    upper = stricter(upper, boundOf(located, 'maximum', 'exclusiveMaximum'), -1);
  }
  return { lower, upper, counts, jsonValues: jsonValuesOf(keywords) };
}

function jsonValuesOf(keywords: Keywords): Map<string, Limit<Set<string>>> {
  const jsonValues = new Map<string, Limit<Set<string>>>();
  for (const keyword of jsonValueKeywords) {
    for (const at of keywords.get(keyword) ?? []) {
      if (at.value === null || at.value === false || isTrivial(keyword, at.value)) continue;
      const encoding = keyword === 'format' ? encodings.get(at.value) : undefined;
      const [name, value] = encoding === undefined ? [keyword, at.value] : ['contentEncoding', encoding];
      const known = jsonValues.get(name);
      if (known) known.value.add(canonicalJson(value));
      else jsonValues.set(name, { value: new Set([canonicalJson(value)]), at });
    }
  }
  return jsonValues;
}

// A `format` of OpenAPI 3.0 that is a `contentEncoding` since 3.1.
const encodings: ReadonlyMap<unknown, string> = new Map([
  ['byte', 'base64'],
  ['base64url', 'base64url'],
]);

/** Whether the keyword is a pattern that every text matches. */
function isTrivial(keyword: string, value: unknown): boolean {
  return keyword === 'pattern' && ['', '.*', '^.*$', '^', '$'].includes(String(value));
}

/** `exclusiveMinimum` is a boolean beside `minimum` in OpenAPI 3.0, and a number since 3.1 (JSON Schema draft 6). */
function boundOf(part: Located, keyword: string, exclusiveKeyword: string): Limit<Bound> | undefined {
  if (!isMap(part.value)) return undefined;
  const { [keyword]: plain, [exclusiveKeyword]: exclusive } = part.value;
  const plainLimit =
    typeof plain === 'number'
      ? { value: { value: plain, isExclusive: exclusive === true }, at: below(part, keyword) }
      : undefined;
  if (typeof exclusive !== 'number') return plainLimit;
  const exclusiveLimit = { value: { value: exclusive, isExclusive: true }, at: below(part, exclusiveKeyword) };
  return stricter(exclusiveLimit, plainLimit, keyword === 'minimum' ? 1 : -1);
}

/** `sign` is 1 for lower ends of a range, and -1 for upper ends. A positive result: `b` is stricter than `a`. */
export function compareBounds(a: Bound, b: Bound, sign: 1 | -1): number {
  return sign * (b.value - a.value) || Number(b.isExclusive) - Number(a.isExclusive);
}

function stricter(a: Limit<Bound> | undefined, b: Limit<Bound> | undefined, sign: 1 | -1): Limit<Bound> | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compareBounds(a.value, b.value, sign) > 0 ? b : a;
}

function addCount(
  keyword: string,
  keywords: Keywords,
  stricterOf: (a: number, b: number) => number,
  counts: Map<string, Limit<number>>,
): void {
  for (const at of keywords.get(keyword) ?? []) {
    if (typeof at.value !== 'number') continue;
    const known = counts.get(keyword);
    if (known === undefined || stricterOf(known.value, at.value) !== known.value)
      counts.set(keyword, { value: at.value, at });
  }
}

// Long enough for the values of an `enum`, and short enough for every match to end soon.
const maxLengths = { pattern: 100, text: 32, textWithNestedLoops: 12 };

/** Whether a text matches a `pattern`; undefined if the pattern is invalid or may take too long. */
export function matchesPattern(pattern: string, text: string): boolean | undefined {
  if (!isQuick(pattern, text)) return undefined;
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return undefined;
  }
}

/** Contracts are untrusted: catastrophic backtracking in a pattern must not block the comparison. */
function isQuick(pattern: string, text: string): boolean {
  if (pattern.length > maxLengths.pattern || text.length > maxLengths.text) return false;
  // `*`, `+`, `{2,` and `?`, but not the `?` after the parenthesis of `(?:`.
  const loopCount = pattern.match(/[*+]|(?<!\()\?|\{\d+,/g)?.length ?? 0;
  const hasChoice = pattern.includes('|');
  // A repeated group, as in `(a+)*`, may contain a loop. Such nested loops are the slowest.
  if (!/\)[*+{]/.test(pattern)) return loopCount <= (hasChoice ? 2 : 4);
  return !hasChoice && !pattern.includes('){') && loopCount <= 3 && text.length <= maxLengths.textWithNestedLoops;
}
