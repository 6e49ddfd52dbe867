import type { Located } from '../document/located.ts';
import { isCounted, isMatched, isWhole, isWithinEnd, keepsListed } from './keepsListed.ts';
import { type Bound, compareBounds, type Limit, maximums, minimums } from './limits.ts';
import type { Pair } from './pair.ts';
import type { View } from './view.ts';

/** Ranges, lengths, counts and patterns. */
export function compareLimits(pair: Pair): void {
  const [old, now] = [pair.old.limits, pair.new.limits];
  if (old === now) return;
  compareEnds(pair, 'minimum', old.lower, now.lower, 1);
  compareEnds(pair, 'maximum', old.upper, now.upper, -1);
  for (const keyword of minimums) compareCounts(pair, keyword, 1);
  for (const keyword of maximums) compareCounts(pair, keyword, -1);
  for (const keyword of new Set([...old.texts.keys(), ...now.texts.keys()])) {
    if (!isElsewhere(keyword)) compareTexts(pair, keyword);
  }
}

/** What has comparisons of its own: formats are types, and content is a notation. */
function isElsewhere(keyword: string): boolean {
  return keyword === 'format' || keyword.startsWith('content');
}

function compareEnds(
  pair: Pair,
  keyword: string,
  old: Limit<Bound> | undefined,
  now: Limit<Bound> | undefined,
  sign: 1 | -1,
): void {
  const order =
    old && now
      ? compareBounds(reached(old.is, pair.old, sign), reached(now.is, pair.new, sign), sign)
      : Number(now !== undefined) - Number(old !== undefined);
  if (order > 0 && now && keepsListed(pair, (value) => isWithinEnd(value, now.is, sign))) return;
  tell(pair, keyword, order, old?.at, now?.at);
}

/** Of whole numbers, more than 0 means from 1 on. */
function reached(bound: Bound, { types }: View, sign: 1 | -1): Bound {
  if (types?.size !== 1 || !types.has('integer')) return bound;
  const inner = sign === 1 ? Math.ceil(bound.value) : Math.floor(bound.value);
  const isOutside = bound.isExclusive && inner === bound.value;
  return { value: isOutside ? inner + sign : inner, isExclusive: false };
}

function compareCounts(pair: Pair, keyword: string, sign: 1 | -1): void {
  const [old, now] = [pair.old.limits.counts.get(keyword), pair.new.limits.counts.get(keyword)];
  // Not to be shorter than 0 is no demand; `minContains` alone is 1 where nothing is said.
  const least = sign === 1 ? (keyword === 'minContains' ? 1 : 0) : Number.POSITIVE_INFINITY;
  const order = sign * ((now?.is ?? least) - (old?.is ?? least)) || 0;
  if (keyword === 'minProperties' && isRequiredAnyway(pair, order)) return;
  if (order > 0 && now && keepsListed(pair, (value) => isCounted(value, keyword, now.is))) return;
  tell(pair, keyword, order, old?.at, now?.at);
}

/** Where as many fields are required, `minProperties` demands nothing more. */
function isRequiredAnyway({ old, new: now, context }: Pair, order: number): boolean {
  const [view, other] = order > 0 ? [old, now] : [now, old];
  const hiding = context.direction === 'request' ? 'readOnly' : 'writeOnly';
  const sent = [...view.required.keys()].filter((name) => view.properties.get(name)?.says(hiding) !== true);
  return sent.length >= (other.limits.counts.get('minProperties')?.is ?? 0);
}

function compareTexts(pair: Pair, keyword: string): void {
  const [old, now] = [pair.old.limits.texts.get(keyword), pair.new.limits.texts.get(keyword)];
  const isKept = [...(old?.is ?? [])].every((text) => now?.is.has(text));
  const isOld = [...(now?.is ?? [])].every((text) => old?.is.has(text));
  if (isKept && isOld) return;
  if (now && !isOld && keepsListed(pair, (value) => isMatched(value, keyword, now.is))) return;
  if (isKept || isOld) {
    tell(pair, keyword, isKept ? 1 : -1, old?.at, now?.at);
    return;
  }
  const order = keyword === 'multipleOf' ? divides(only(old?.is), only(now?.is)) : 0;
  if (order !== 0) {
    tell(pair, keyword, order, old?.at, now?.at);
    return;
  }
  pair.found('limit', 'changed', keyword, old?.at, now?.at);
}

/** `order` > 0: less is let through than before. NaN: two limits that are both infinite. */
function tell(pair: Pair, keyword: string, order: number, old: Located | undefined, now: Located | undefined): void {
  if (order > 0) pair.found('limit', 'narrower', keyword, old, now);
  if (order < 0) pair.found('limit', 'wider', keyword, old, now);
}

function divides(old: number, now: number): number {
  if (isWhole(now / old)) return 1;
  return isWhole(old / now) ? -1 : 0;
}

function only(texts: ReadonlySet<string> | undefined): number {
  const [first] = texts ?? [];
  return Number(first);
}
