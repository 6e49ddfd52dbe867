import type { Request } from 'express';
import { type Base, bases } from './menu.ts';
import { HttpError } from './problem.ts';

type Query = Request['query'];

/** The `base` filter; undefined if the parameter is absent. */
export function readBaseSpirit(query: Query): Base | undefined {
  const value = readSingle(query, 'base');
  if (value === undefined) return undefined;
  const base = bases.find((allowed) => allowed === value);
  if (base === undefined) throw new HttpError(400, `base must be one of ${bases.join(', ')}`);
  return base;
}

/** An integer from `min` to `max`; undefined if the parameter is absent. */
export function readInteger(query: Query, name: string, bounds: { min: number; max: number }): number | undefined {
  const value = readSingle(query, name);
  if (value === undefined) return undefined;
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= bounds.min && number <= bounds.max) return number;
  throw new HttpError(400, `${name} must be a whole number from ${bounds.min} to ${bounds.max}`);
}

/** A required word to look for. */
export function readWord(query: Query, name: string): string {
  const value = readSingle(query, name);
  if (value === undefined || value === '') throw new HttpError(400, `${name} is required: the word to look for`);
  return value;
}

export function readId(segment: string): number {
  if (/^[1-9]\d{0,8}$/.test(segment)) return Number(segment);
  throw new HttpError(400, 'The id in the path must be a whole number from 1 to 999999999');
}

function readSingle(query: Query, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || typeof value === 'string') return value;
  // A repeated parameter is ambiguous.
  throw new HttpError(400, `${name} may be given only once`);
}
