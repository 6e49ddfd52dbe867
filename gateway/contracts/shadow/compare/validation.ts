import type { Documents } from '../../../contract/document/documents.ts';
import { isList, type Located } from '../../../contract/document/located.ts';
import { JsonSchemas } from '../../../contract/schema/jsonSchema.ts';
import { schemaPolicies } from '../../../contract/schema/policies.ts';
import { type SchemaError, SchemaValidator } from '../../../contract/schema/validator.ts';
import { memberName } from '../../../shared/json.ts';

/** Where a body violates its schema, and which rule it violates. Does not contain values of the body. */
export interface Violation {
  /** Keys and indexes from the root of the body. */
  readonly keys: readonly string[];
  /** `type number` (the type of the value), `format date-time`, `required`, `enum` and so on. */
  readonly rule: string;
}

// Choices that are nested deeper are reported as one violation, because each level multiplies the work of finding the best alternative.
const deepestChoice = 6;

/** Validates bodies against the schemas of the responses of one contract. Each schema is compiled when it is first needed. */
export class ResponseValidator {
  readonly #schemas: JsonSchemas;
  readonly #validator: SchemaValidator;

  /** `isOpen`: whether objects with `additionalProperties: false` may have further fields. */
  constructor(documents: Documents, { isOpen }: { readonly isOpen: boolean }) {
    this.#schemas = new JsonSchemas(documents, isOpen ? schemaPolicies.openEvidence : schemaPolicies.evidence);
    this.#validator = new SchemaValidator(this.#schemas);
  }

  /** Empty: the body is valid, or the schema cannot be compiled. */
  violations(schema: Located, body: unknown): Violation[] {
    const errors = this.#validator.errorsOf(this.#schemas.schema(schema), body);
    return this.#withBestAlternatives(errors, 0).map((error) => ({ keys: keysOf(error), rule: ruleOf(error) }));
  }

  /**
   * Replaces the errors of all alternatives of a choice with those of the best alternative. A validator lists the errors
   * of the alternatives directly before the error of the choice. Every choice is an `anyOf`, because `schemaPolicies` says so.
   */
  #withBestAlternatives(errors: readonly SchemaError[], depth: number): SchemaError[] {
    const kept: SchemaError[] = [];
    for (let index = errors.length - 1; index >= 0; index -= 1) {
      const error = errors[index] as SchemaError;
      if (error.keyword !== 'anyOf' || !isList(error.schema)) {
        if (!summaryKeywords.has(error.keyword)) kept.push(error);
        continue;
      }
      const errorLists = error.schema.map((one) => this.#validator.errorsOf(one, error.data));
      index -= errorLists.reduce((sum, { length }) => sum + length, 0);
      const [best] = errorLists
        .filter((list) => list.length > 0)
        .toSorted((a, b) => distance(a) - distance(b) || a.length - b.length);
      const bestErrors = best && depth < deepestChoice ? this.#withBestAlternatives(best, depth + 1) : [];
      if (bestErrors.length === 0) kept.push(error);
      for (const one of bestErrors) kept.push({ ...one, instancePath: error.instancePath + one.instancePath });
    }
    return kept;
  }

  /** Drops the errors of the last validation, which contain values of the body. */
  forget(): void {
    this.#validator.forget();
  }
}

/** Errors of these keywords are left out. They only say that the schema below the keyword has errors, which are listed anyway. */
const summaryKeywords: ReadonlySet<string> = new Set(['if', 'allOf', '$ref']);

/** How far a value is from an alternative. A value of another type, or with another constant, is probably not meant for it. */
function distance(errors: readonly SchemaError[]): number {
  return errors.reduce((sum, { keyword, instancePath }) => {
    const depth = instancePath.split('/').length - 1;
    if (keyword === 'type' && depth === 0) return sum + 10_000;
    if ((keyword === 'const' || keyword === 'enum') && depth <= 1) return sum + 100;
    return sum + (keyword === 'required' ? 2 : 1);
  }, 0);
}

function keysOf({ instancePath, keyword, params }: SchemaError): string[] {
  const keys = instancePath.split('/').slice(1).map(memberName);
  const { missingProperty, additionalProperty, unevaluatedProperty } = params as Record<string, unknown>;
  const [property] = [missingProperty, additionalProperty, unevaluatedProperty].filter(
    (key) => typeof key === 'string',
  );
  return property === undefined || keyword === 'dependentRequired' ? keys : [...keys, property];
}

function ruleOf({ keyword, params, data }: SchemaError): string {
  const { format } = params as Record<string, unknown>;
  if (keyword === 'type') return `type ${shapeTypeOf(data)}`;
  if (keyword === 'format') return `format ${String(format)}`;
  if (keyword === 'const') return 'enum';
  if (keyword === 'anyOf') return 'alternatives';
  return keyword === 'additionalProperties' || keyword === 'unevaluatedProperties' ? 'unlisted' : keyword;
}

export type ShapeType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

/** The type of a value of JSON. Integers count as numbers, because the same field often has 5 in one response and 5.5 in the next. */
export function shapeTypeOf(value: unknown): ShapeType {
  if (value === null || value === undefined) return 'null';
  if (isList(value)) return 'array';
  const type = typeof value;
  return type === 'boolean' || type === 'number' || type === 'string' ? type : 'object';
}
