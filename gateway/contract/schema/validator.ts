import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import { formatsOf } from './formats.ts';
import { type JsonSchemas, type NamedSchemas, type PlainSchema, refPrefix, type SubSchema } from './jsonSchema.ts';
import { schemaRegExp } from './patterns.ts';
import { type SchemaPolicy, schemaPolicies } from './policies.ts';

export type SchemaError = ErrorObject;

/** Validates values with the schemas of one contract. */
export class SchemaValidator {
  readonly #ajv: Ajv2020;
  /** Key: a schema. Value: its validation function, as `#compile` returns it. */
  readonly #compiled = new Map<unknown, ValidateFunction | undefined>();

  /** More schemas may be added to `named` later. Each is compiled once, for all schemas that refer to it. */
  constructor({ named, policy }: Pick<JsonSchemas, 'named' | 'policy'>) {
    this.#ajv = ajvFor(policy, named);
  }

  isValid(schema: SubSchema, value: unknown): boolean {
    return this.errorsOf(schema, value).length === 0;
  }

  /** The JSON Pointer of the first part that is not valid, and what it violates. Undefined: the value is valid. */
  faultOf(schema: SubSchema, value: unknown): { readonly pointer: string; readonly message: string } | undefined {
    // ajv lists the error of a `oneOf` or `anyOf` after the errors of its alternatives.
    const error = this.errorsOf(schema, value).at(-1);
    return error && { pointer: error.instancePath, message: error.message ?? 'is not valid' };
  }

  /**
   * Empty: the value is valid, or the schema cannot be compiled. `schema`: may be a part of another one.
   * @throws RangeError if the schemas are nested so deeply that compiling them overflows the stack
   */
  errorsOf(schema: unknown, value: unknown): readonly SchemaError[] {
    if (!this.#compiled.has(schema)) this.#compiled.set(schema, this.#compile(schema));
    const validate = this.#compiled.get(schema);
    try {
      return validate === undefined || validate(value) === true ? [] : (validate.errors ?? []);
    } catch (error) {
      // Validation with a schema that is a part of itself would not end.
      if (!(error instanceof RangeError)) throw error;
      this.#compiled.set(schema, undefined);
      return [];
    }
  }

  /** Drops the errors of the last validation, which contain values. */
  forget(): void {
    const { refs, schemas } = this.#ajv;
    const known = [...Object.values(refs), ...Object.values(schemas)];
    const within = known.flatMap((one) => (typeof one === 'object' ? Object.values(one.refs ?? {}) : []));
    for (const one of [...known, ...within])
      if (typeof one === 'object' && 'validate' in one && typeof one.validate === 'function')
        one.validate.errors = null;
    for (const validate of this.#compiled.values()) if (validate) validate.errors = null;
  }

  #compile(schema: unknown): ValidateFunction | undefined {
    try {
      return this.#ajv.compile(withBundle(schema) as SubSchema);
    } catch (error) {
      if (error instanceof RangeError) throw error;
      // A contract may have keywords with values that no validator accepts.
      return undefined;
    }
  }
}

/**
 * The source of a module that exports a check for each of `schemas`, by its name. Serving processes run the module, so that they compile
 * no schema. A schema that cannot be compiled has no check.
 * @throws RangeError if the schemas are nested so deeply that compiling them overflows the stack
 */
export function checkCodeOf(schemas: NamedSchemas, named: NamedSchemas): string {
  const text = JSON.stringify([schemas, named]);
  const ajv = ajvFor(schemaPolicies.servedResponse, named, {
    // Six times slower, so only for contracts with a name such as `constructor`, which each object inherits.
    ownProperties: Object.getOwnPropertyNames(Object.prototype).some((name) => text.includes(`"${name}"`)),
    code: { source: true, regExp: schemaRegExp },
  });
  // The keys have no slash: a `$ref` is relative to the key of its schema.
  const keys = Object.keys(schemas).map((name, index) => [name, `check${index}`] as const);
  const compilable = keys.filter(([name, key]) => {
    try {
      ajv.addSchema(withBundle(schemas[name]) as PlainSchema, key);
      return ajv.getSchema(key) !== undefined;
    } catch (error) {
      if (error instanceof RangeError) throw error;
      return false;
    }
  });
  return standaloneCode.default(ajv, Object.fromEntries(compilable));
}

const bundleId = 'bundle';

function ajvFor(policy: SchemaPolicy, named: NamedSchemas, options: Options = {}): Ajv2020 {
  const ajv = new Ajv2020({
    ...formatsOf[policy.formats],
    strict: false,
    meta: false,
    validateSchema: false,
    logger: false,
    addUsedSchema: false,
    ownProperties: true,
    // As a double, 19.99 is not a multiple of 0.01.
    multipleOfPrecision: 9,
    allErrors: policy.listsAllErrors ?? false,
    verbose: policy.listsAllErrors ?? false,
    code: { regExp: schemaRegExp },
    ...options,
  });
  ajv.addSchema({ components: { schemas: named } }, bundleId);
  return ajv;
}

/** A copy of the schema, with the id of the bundle in front of each `$ref`. */
function withBundle(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withBundle);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => {
    const isRef = key === '$ref' && typeof value === 'string' && value.startsWith(refPrefix);
    return [key, isRef ? `${bundleId}${value}` : withBundle(value)] as const;
  });
  return Object.fromEntries(entries);
}
