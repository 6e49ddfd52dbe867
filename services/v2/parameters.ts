import type { Request } from 'express';
import { type Base, bases } from './menu.ts';
import { Refusal } from './problem.ts';

type Query = Request['query'];

/** The `base` filter; undefined when the client does not filter. */
export function readBase(query: Query): Base | undefined {
  const value = readOnce(query, 'base');
  if (value === undefined) return undefined;
  const base = bases.find((allowed) => allowed === value);
  if (base === undefined) throw new Refusal(400, `base must be one of ${bases.join(', ')}`);
  return base;
}

/** The `base` of a route that requires it. */
export function readRequiredBase(query: Query): Base {
  const base = readBase(query);
  if (base === undefined) throw new Refusal(400, `base is required: one of ${bases.join(', ')}`);
  return base;
}

/** A whole number within bounds, both of them allowed; undefined when the parameter is not given. */
export function readWhole(query: Query, name: string, bounds: { least: number; most: number }): number | undefined {
  const value = readOnce(query, name);
  if (value === undefined) return undefined;
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= bounds.least && number <= bounds.most) return number;
  throw new Refusal(400, `${name} must be a whole number from ${bounds.least} to ${bounds.most}`);
}

export function readId(segment: string): number {
  if (/^[1-9]\d{0,8}$/.test(segment)) return Number(segment);
  throw new Refusal(400, 'The id in the path must be a whole number from 1 to 999999999');
}

function readOnce(query: Query, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || typeof value === 'string') return value;
  // A repeated parameter is ambiguous.
  throw new Refusal(400, `${name} may be given only once`);
}
