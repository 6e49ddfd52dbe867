import { isList, isMap } from '../document/located.ts';
import { type Bound, compareBounds } from './limits.ts';
import type { Pair } from './pair.ts';
import { matches } from './regularExpressions.ts';

// More than anybody writes down, and soon tried.
const most = 100;

/** Whether all values that a request could hold are listed, and fulfil what is demanded now. */
export function keepsListed({ old, context }: Pair, fulfils: (value: unknown) => boolean): boolean {
  if (context.direction === 'response' || old.values === undefined || old.values.size > most) return false;
  return [...old.values.values()].every(({ value }) => fulfils(value));
}

/** `sign` 1: a lower end; -1: an upper one. */
export function isWithinEnd(value: unknown, bound: Bound, sign: 1 | -1): boolean {
  return typeof value !== 'number' || compareBounds(bound, { value, isExclusive: false }, sign) >= 0;
}

/** `keyword`: `minLength`, `maxItems` or one of their like, which demand nothing of other types. */
export function isCounted(value: unknown, keyword: string, limit: number): boolean {
  if (keyword.endsWith('Contains')) return false;
  const count = countOf(value, keyword.slice('min'.length));
  return count === undefined || (keyword.startsWith('min') ? count >= limit : count <= limit);
}

function countOf(value: unknown, what: string): number | undefined {
  if (typeof value === 'string' && what === 'Length') return [...value].length;
  if (isList(value) && what === 'Items') return value.length;
  return isMap(value) && what === 'Properties' ? Object.keys(value).length : undefined;
}

/** `demands`: what a `pattern` or `multipleOf` is in each part of the schema, as JSON. */
export function isMatched(value: unknown, keyword: string, demands: ReadonlySet<string>): boolean {
  const said = [...demands].map((text): unknown => JSON.parse(text));
  if (keyword === 'pattern') {
    return typeof value !== 'string' || said.every((pattern) => matches(String(pattern), value) === true);
  }
  if (keyword !== 'multipleOf') return false;
  return typeof value !== 'number' || said.every((divisor) => isWhole(value / Number(divisor)));
}

/** Near enough: 0.3 / 0.1 is no whole number to a computer. */
export function isWhole(ratio: number): boolean {
  return Math.abs(ratio - Math.round(ratio)) < 1e-9;
}
