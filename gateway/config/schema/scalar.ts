import { z } from 'zod';
import { Expanded } from '../expand.ts';

/** Why a scalar does not do: a predicate to follow its value, `has no unit`, and what to write instead. */
export class Wrong {
  readonly predicate: string;
  readonly remedy: string | undefined;

  constructor(predicate: string, remedy?: string) {
    this.predicate = predicate;
    this.remedy = remedy;
  }
}

/** What a fault is made from; `mismatch`: it is not even of the right type, so another form may have been meant. */
export interface ScalarIssue {
  readonly predicate: string;
  readonly remedy: string;
  readonly mismatch: boolean;
}

interface Types {
  string: string;
  number: number;
  boolean: boolean;
}

export interface ScalarKind<Name extends keyof Types, Value> {
  readonly accepts: readonly Name[];
  /** To follow "Write": `a duration such as 3s`. */
  readonly expected: string;
  /** For editors: type, pattern, enum, examples. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly parse: (input: Types[Name]) => Value | Wrong;
}

/** A schema for one scalar. It reads `unknown`, so that whatever is wrong is said in our words and only once. */
export function scalar<Name extends keyof Types, Value>(kind: ScalarKind<Name, Value>) {
  return z
    .unknown()
    .transform((input, context): Exclude<Value, Wrong> => {
      const typed = pick(kind.accepts, input);
      const result = typed === undefined ? new Wrong(mismatch(input)) : kind.parse(typed);
      if (!(result instanceof Wrong)) return result as Exclude<Value, Wrong>;
      const params: ScalarIssue = {
        predicate: result.predicate,
        remedy: result.remedy ?? `Write ${kind.expected}.`,
        mismatch: typed === undefined,
      };
      context.issues.push({ code: 'custom', input, message: result.predicate, params: { ...params } });
      return z.NEVER;
    })
    .meta({ ...kind.json });
}

// An expansion is read as whatever is wanted here: a token of nothing but digits stays a text.
function pick<Name extends keyof Types>(accepts: readonly Name[], input: unknown): Types[Name] | undefined {
  const readings = input instanceof Expanded ? [input.value, input.text] : [input];
  return readings.find((value): value is Types[Name] => accepts.some((name) => typeof value === name));
}

function mismatch(input: unknown): string {
  if (input === undefined) return 'is missing';
  return `is ${nameOfType(input)}`;
}

/** `a list`, `a number`, … */
export function nameOfType(input: unknown): string {
  const value = input instanceof Expanded ? input.value : input;
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}

/** A map with these keys and no others. One whose keys are all commented out is an empty map, not nothing. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess(nothingIsEmpty, z.strictObject(shape));
}

// Not so for a key that is missing: it may have to be there.
function nothingIsEmpty(input: unknown): unknown {
  const value = plain(input);
  return value === null ? {} : value;
}

/** A variable is an object only to us: nobody can write a map in one. */
export function plain(input: unknown): unknown {
  return input instanceof Expanded ? input.value : input;
}

/** Whether this is `${NAME:-}` of a variable that nobody has set, or set to nothing. */
export function isEmptyVariable(input: unknown): boolean {
  return input instanceof Expanded && input.text === '';
}

/** A key that may be missing, and counts as missing when its variable is empty: one file, with and without it. */
export function unlessEmpty<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((input) => (isEmptyVariable(input) ? undefined : input), schema.optional()).optional();
}
