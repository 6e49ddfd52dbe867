import { z } from 'zod';
import { ExpandedText } from '../expand.ts';

/** Why a scalar is wrong: a predicate that follows the value, such as `has no unit`, and what to write instead. */
export class WrongValue {
  readonly predicate: string;
  readonly remedy: string | undefined;

  constructor(predicate: string, remedy?: string) {
    this.predicate = predicate;
    this.remedy = remedy;
  }
}

/** The content of a fault. `isWrongType`: the type is wrong, so the value may be meant as another form, such as a map. */
export interface ScalarIssue {
  readonly predicate: string;
  readonly remedy: string;
  readonly isWrongType: boolean;
}

interface ScalarTypes {
  string: string;
  number: number;
  boolean: boolean;
}

export interface ScalarKind<Name extends keyof ScalarTypes, Value> {
  readonly accepts: readonly Name[];
  /** Follows "Write": `a duration such as 3s`. */
  readonly expected: string;
  /** Keywords of the JSON Schema for editors: type, pattern, enum, examples. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly parse: (input: ScalarTypes[Name]) => Value | WrongValue;
}

/** A schema for one scalar. It accepts `unknown`, so that zod adds no messages of its own. */
export function scalar<Name extends keyof ScalarTypes, Value>(kind: ScalarKind<Name, Value>) {
  return z
    .unknown()
    .transform((input, context): Exclude<Value, WrongValue> => {
      const typed = asAccepted(kind.accepts, input);
      const result = typed === undefined ? new WrongValue(mismatchPredicate(input)) : kind.parse(typed);
      if (!(result instanceof WrongValue)) return result as Exclude<Value, WrongValue>;
      const params: ScalarIssue = {
        predicate: result.predicate,
        remedy: result.remedy ?? `Write ${kind.expected}.`,
        isWrongType: typed === undefined,
      };
      context.issues.push({ code: 'custom', input, message: result.predicate, params: { ...params } });
      return z.NEVER;
    })
    .meta({ ...kind.json });
}

// An expanded variable is read as the accepted type: a token `${TOKEN}` that consists of digits stays a string.
function asAccepted<Name extends keyof ScalarTypes>(
  accepts: readonly Name[],
  input: unknown,
): ScalarTypes[Name] | undefined {
  const candidates = input instanceof ExpandedText ? [input.value, input.text] : [input];
  return candidates.find((value): value is ScalarTypes[Name] => accepts.some((name) => typeof value === name));
}

function mismatchPredicate(input: unknown): string {
  if (input === undefined) return 'is missing';
  return `is ${nameOfType(input)}`;
}

/** `a list`, `a number`, … */
export function nameOfType(input: unknown): string {
  const value = input instanceof ExpandedText ? input.value : input;
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}

/** A map with these keys and no others. If all keys are commented out, it is an empty map. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess(nullToEmptyMap, z.strictObject(shape));
}

/** An empty map for a key without a value. A missing key is not replaced, because it may be required. */
export function nullToEmptyMap(input: unknown): unknown {
  const value = expandedValue(input);
  return value === null ? {} : value;
}

/** The YAML value of `${NAME}` for an expanded variable; any other input unchanged. */
export function expandedValue(input: unknown): unknown {
  return input instanceof ExpandedText ? input.value : input;
}

/** Whether the input is a variable without quotes whose value is empty, such as `${NAME:-}`. */
export function isEmptyVariable(input: unknown): boolean {
  return input instanceof ExpandedText && input.text === '';
}

/** An optional key. It counts as missing if its variable is empty, so that one file works with and without the variable. */
export function optionalOrEmpty<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess((input) => (isEmptyVariable(input) ? undefined : input), schema.optional()).optional();
}
