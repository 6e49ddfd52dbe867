import { z } from 'zod';
import { Expanded } from '../expand.ts';

/** Why a scalar is wrong: a predicate that follows its value, such as `has no unit`, and what to write instead. */
export class Wrong {
  readonly predicate: string;
  readonly remedy: string | undefined;

  constructor(predicate: string, remedy?: string) {
    this.predicate = predicate;
    this.remedy = remedy;
  }
}

/** The content of a fault. `mismatch`: the type is wrong, so another form of the value may be meant. */
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
  /** Follows "Write": `a duration such as 3s`. */
  readonly expected: string;
  /** For editors: type, pattern, enum, examples. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly parse: (input: Types[Name]) => Value | Wrong;
}

/** A schema for one scalar. It accepts `unknown`, so that every fault has our wording and is reported once. */
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

// An expanded variable takes the type that is accepted here: a token of digits stays a text.
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

/** A map with these keys and no others. If all keys are commented out, it is an empty map. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess(nullToEmptyMap, z.strictObject(shape));
}

// A missing map stays missing: it may be required.
function nullToEmptyMap(input: unknown): unknown {
  const value = plain(input);
  return value === null ? {} : value;
}

/** The value of an expanded variable, which is never a map. */
export function plain(input: unknown): unknown {
  return input instanceof Expanded ? input.value : input;
}

/** Whether this is `${NAME:-}` of a variable that is unset or empty. */
export function isEmptyVariable(input: unknown): boolean {
  return input instanceof Expanded && input.text === '';
}

/** An optional key that counts as missing if its variable is empty, so that one file works with and without it. */
export function optionalUnlessEmpty<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((input) => (isEmptyVariable(input) ? undefined : input), schema.optional()).optional();
}
