import { isList, type Located } from '../../../contract/document/located.ts';
import { canonicalJson } from '../../../contract/schema/keywords.ts';
import {
  type Bound,
  compareBounds,
  type Limit,
  matchesPattern,
  maximums,
  minimums,
} from '../../../contract/schema/limits.ts';
import type { View } from '../../../contract/schema/schema.ts';
import { isMap } from '../../../shared/json.ts';
import { isSentAsText, noName, type SchemaPair } from './schemaPair.ts';

/** Compares `enum`, `const` and `default`. If only one of the schemas accepts nothing but null, `compareTypes` reports it. */
export function compareValues(pair: SchemaPair): void {
  const { old, new: now } = pair;
  const isNullOnly = [old, now].some(({ types }) => types?.size === 0);
  if (old.enumValues && now.enumValues) {
    const keyOf = isSentAsText(pair.use) ? withoutQuotes : (json: string): string => json;
    const [oldKeys, newKeys] = [old.enumValues, now.enumValues].map((values) => new Set([...values.keys()].map(keyOf)));
    const removed = [...old.enumValues.keys()].filter((json) => !newKeys?.has(keyOf(json)));
    const added = [...now.enumValues.keys()].filter((json) => !oldKeys?.has(keyOf(json)));
    const places = [enumOf(old), enumOf(now)] as const;
    if (removed.length > 0) pair.addChange('value', 'removed', noName, ...places, { is: 'values', values: removed });
    if (added.length > 0) pair.addChange('value', 'added', noName, ...places, { is: 'values', values: added });
  } else if (now.enumValues && !isNullOnly && !includesAllOf(now.enumValues, old.types)) {
    pair.addChange('values', 'listed', noName, undefined, enumOf(now), {
      is: 'values',
      values: [...now.enumValues.keys()],
    });
  } else if (old.enumValues && !isNullOnly && !includesAllOf(old.enumValues, now.types)) {
    pair.addChange('values', 'unlisted', noName, enumOf(old), undefined, {
      is: 'values',
      values: [...old.enumValues.keys()],
    });
  }
  const [before, after] = [old.at('default'), now.at('default')];
  if (pair.isRequest && jsonOf(before?.value) !== jsonOf(after?.value)) {
    pair.addChange('default', 'changed', noName, before, after);
  }
}

function withoutQuotes(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}

function enumOf(view: View): Located | undefined {
  return view.at('enum') ?? view.at('const');
}

function jsonOf(value: unknown): string {
  return value === undefined ? '' : canonicalJson(value);
}

/** `enum: [true, false]` does not limit a boolean. */
function includesAllOf(values: ReadonlyMap<string, unknown>, types: ReadonlySet<string> | undefined): boolean {
  return types?.size === 1 && types.has('boolean') && values.has('true') && values.has('false');
}

/** Compares ranges, lengths, counts and patterns. */
export function compareLimits(pair: SchemaPair): void {
  const [old, now] = [pair.old.limits, pair.new.limits];
  if (old === now) return;
  if (pair.isKeywordComparable('minimum')) {
    compareRangeEnds(pair, 'minimum', old.lower, now.lower, 1);
    compareRangeEnds(pair, 'maximum', old.upper, now.upper, -1);
  }
  for (const keyword of minimums) if (pair.isKeywordComparable(keyword)) compareCounts(pair, keyword, 1);
  for (const keyword of maximums) if (pair.isKeywordComparable(keyword)) compareCounts(pair, keyword, -1);
  for (const keyword of new Set([...old.jsonValues.keys(), ...now.jsonValues.keys()])) {
    if (!isComparedElsewhere(keyword) && pair.isKeywordComparable(keyword)) compareJsonValues(pair, keyword);
  }
}

/** Formats are compared by `compareTypes`, and `contentEncoding` and `contentMediaType` by `compareNotations`. */
function isComparedElsewhere(keyword: string): boolean {
  return keyword === 'format' || keyword.startsWith('content');
}

/** Compares the lower ends of two ranges (`sign` 1), or the upper ends (-1). */
function compareRangeEnds(
  pair: SchemaPair,
  keyword: string,
  old: Limit<Bound> | undefined,
  now: Limit<Bound> | undefined,
  sign: 1 | -1,
): void {
  const order =
    old && now
      ? compareBounds(inclusive(old.value, pair.old, sign), inclusive(now.value, pair.new, sign), sign)
      : Number(now !== undefined) - Number(old !== undefined);
  if (order > 0 && now && oldValuesSatisfy(pair, (value) => isWithinBound(value, now.value, sign))) return;
  addLimitChange(pair, keyword, order, old?.at, now?.at);
}

/** Makes an exclusive limit of integers inclusive: more than 0 is the same as at least 1. */
function inclusive(bound: Bound, { types }: View, sign: 1 | -1): Bound {
  if (types?.size !== 1 || !types.has('integer')) return bound;
  const nearest = sign === 1 ? Math.ceil(bound.value) : Math.floor(bound.value);
  const isOutside = bound.isExclusive && nearest === bound.value;
  return { value: isOutside ? nearest + sign : nearest, isExclusive: false };
}

function compareCounts(pair: SchemaPair, keyword: string, sign: 1 | -1): void {
  const [old, now] = [pair.old.limits.counts.get(keyword), pair.new.limits.counts.get(keyword)];
  // The defaults: 1 for `minContains`, 0 for other minimums.
  const defaultLimit = sign === 1 ? (keyword === 'minContains' ? 1 : 0) : Number.POSITIVE_INFINITY;
  // If both are infinite, their difference is NaN, which becomes 0.
  const order = sign * ((now?.value ?? defaultLimit) - (old?.value ?? defaultLimit)) || 0;
  if (keyword === 'minProperties' && isImpliedByRequired(pair, order)) return;
  if (order > 0 && now && oldValuesSatisfy(pair, (value) => satisfiesCount(value, keyword, now.value))) return;
  addLimitChange(pair, keyword, order, old?.at, now?.at);
}

/**
 * Whether the required fields of the looser schema already satisfy the `minProperties` of the stricter one. `order` > 0: the new
 * schema is the stricter one.
 */
function isImpliedByRequired({ old, new: now, isRequest }: SchemaPair, order: number): boolean {
  const [looser, stricter] = order > 0 ? [old, now] : [now, old];
  const unsentKeyword = isRequest ? 'readOnly' : 'writeOnly';
  const requiredNames = [...looser.required.keys()];
  const sentNames = requiredNames.filter((name) => looser.properties.get(name)?.has(unsentKeyword) !== true);
  return sentNames.length >= (stricter.limits.counts.get('minProperties')?.value ?? 0);
}

function compareJsonValues(pair: SchemaPair, keyword: string): void {
  const [old, now] = [pair.old.limits.jsonValues.get(keyword), pair.new.limits.jsonValues.get(keyword)];
  const keepsAllOld = [...(old?.value ?? [])].every((text) => now?.value.has(text));
  const addsNothing = [...(now?.value ?? [])].every((text) => old?.value.has(text));
  if (keepsAllOld && addsNothing) return;
  if (keyword === 'multipleOf' && acceptsAllIntegers(pair.old, old) && acceptsAllIntegers(pair.new, now)) return;
  if (now && !addsNothing && oldValuesSatisfy(pair, (value) => satisfiesJsonValues(value, keyword, now.value))) return;
  if (keepsAllOld || addsNothing) {
    addLimitChange(pair, keyword, keepsAllOld ? 1 : -1, old?.at, now?.at);
    return;
  }
  const order = keyword === 'multipleOf' ? compareDivisors(firstNumber(old?.value), firstNumber(now?.value)) : 0;
  if (order !== 0) addLimitChange(pair, keyword, order, old?.at, now?.at);
  else pair.addChange('limit', 'changed', keyword, old?.at, now?.at);
}

/** Whether the schema is limited to integers, by its type or by `multipleOf: 1`, and accepts all of them. */
function acceptsAllIntegers({ types }: View, divisors: Limit<ReadonlySet<string>> | undefined): boolean {
  if (divisors !== undefined) return [...divisors.value].every((divisor) => divisor === '1');
  return types?.has('integer') === true && !types.has('number');
}

/** `order` > 0: the new limit is stricter; 0: no change. */
function addLimitChange(
  pair: SchemaPair,
  keyword: string,
  order: number,
  old: Located | undefined,
  now: Located | undefined,
): void {
  if (order > 0) pair.addChange('limit', 'narrower', keyword, old, now);
  if (order < 0) pair.addChange('limit', 'wider', keyword, old, now);
}

function compareDivisors(old: number, now: number): number {
  if (isWhole(now / old)) return 1;
  return isWhole(old / now) ? -1 : 0;
}

function firstNumber(jsonValues: ReadonlySet<string> | undefined): number {
  const [first] = jsonValues ?? [];
  return Number(first);
}

// More values than an `enum` has in practice, and few enough to test each.
const maxValues = 100;

/** Whether old requests could only contain listed values, and all these values satisfy the new limit. */
function oldValuesSatisfy({ old, isRequest }: SchemaPair, satisfies: (value: unknown) => boolean): boolean {
  if (!isRequest || old.enumValues === undefined || old.enumValues.size > maxValues) return false;
  return [...old.enumValues.values()].every(({ value }) => satisfies(value));
}

function isWithinBound(value: unknown, bound: Bound, sign: 1 | -1): boolean {
  return typeof value !== 'number' || compareBounds(bound, { value, isExclusive: false }, sign) >= 0;
}

/** `keyword`: `minLength`, `maxItems` and so on. Each of them limits values of one type, and allows values of other types. */
function satisfiesCount(value: unknown, keyword: string, limit: number): boolean {
  if (keyword.endsWith('Contains')) return false;
  const count = countOf(value, keyword.slice('min'.length));
  return count === undefined || (keyword.startsWith('min') ? count >= limit : count <= limit);
}

function countOf(value: unknown, unit: string): number | undefined {
  if (typeof value === 'string' && unit === 'Length') return [...value].length;
  if (isList(value) && unit === 'Items') return value.length;
  return isMap(value) && unit === 'Properties' ? Object.keys(value).length : undefined;
}

/** `jsonValues`: the values of `pattern` or `multipleOf` in all parts of the schema, as JSON. */
function satisfiesJsonValues(value: unknown, keyword: string, jsonValues: ReadonlySet<string>): boolean {
  const limits = [...jsonValues].map((json): unknown => JSON.parse(json));
  if (keyword === 'pattern') {
    return typeof value !== 'string' || limits.every((pattern) => matchesPattern(String(pattern), value) === true);
  }
  if (keyword !== 'multipleOf') return false;
  return typeof value !== 'number' || limits.every((divisor) => isWhole(value / Number(divisor)));
}

/** With a tolerance: 0.3 / 0.1 is not exactly 3 in floating point. A tiny ratio is not taken for 0. */
function isWhole(ratio: number): boolean {
  return ratio === 0 || (Math.abs(ratio) > 0.5 && Math.abs(ratio - Math.round(ratio)) < 1e-9);
}
