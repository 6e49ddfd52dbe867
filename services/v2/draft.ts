import type { Request } from 'express';
import { type Base, bases, type Draft } from './menu.ts';
import { HttpError } from './problem.ts';

/** The cocktail that a request wants to add. Unknown fields are ignored. */
export function readDraft(req: Request): Draft {
  const { name, base, price, ingredients, glass } = readObject(req);
  if (isName(name) && isBase(base) && isPrice(price) && isIngredients(ingredients) && isGlass(glass)) {
    return { name, base, price, ingredients, ...(glass !== undefined && { glass }) };
  }
  // Reports all faults at once, so that the client can correct them in one step.
  const faults = [
    isName(name) ? [] : 'name must be a string of 1 to 80 characters',
    isBase(base) ? [] : `base must be one of ${bases.join(', ')}`,
    isPrice(price) ? [] : 'price must be a number from 0 to 999.99',
    isIngredients(ingredients) ? [] : 'ingredients must be 1 to 20 strings of 1 to 60 characters each',
    isGlass(glass) ? [] : 'glass, if given, must be a string of 1 to 40 characters',
  ];
  throw new HttpError(400, faults.flat().join('; '));
}

function readObject(req: Request): Record<string, unknown> {
  // `is` returns false for a body of another type, and null without a body.
  if (req.is('application/json') === false) throw new HttpError(415, 'Send the cocktail as application/json');
  const body: unknown = req.body;
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return { ...body };
  throw new HttpError(400, 'The body must be a JSON object');
}

function isName(value: unknown): value is string {
  return isText(value, 80);
}

function isBase(value: unknown): value is Base {
  return bases.some((base) => base === value);
}

function isPrice(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 999.99;
}

function isIngredients(value: unknown): value is string[] {
  return Array.isArray(value) && value.length >= 1 && value.length <= 20 && value.every((item) => isText(item, 60));
}

function isGlass(value: unknown): value is string | undefined {
  return value === undefined || isText(value, 40);
}

function isText(value: unknown, maxLength: number): value is string {
  // The limits of JSON Schema count code points, `length` counts UTF-16 units.
  return typeof value === 'string' && /\S/.test(value) && [...value].length <= maxLength;
}
