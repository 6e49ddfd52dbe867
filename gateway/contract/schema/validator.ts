import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import type { SchemaEnv } from 'ajv/dist/compile/index.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import { formatsOf } from './formats.ts';
import { type JsonSchemas, type NamedSchemas, type PlainSchema, refPrefix, type SubSchema } from './jsonSchema.ts';
import { schemaRegExp } from './patterns.ts';
import { type SchemaPolicy, schemaPolicies } from './policies.ts';

export type SchemaError = ErrorObject;

/** Validates values with the schemas of one contract. */
export class SchemaValidator {
  readonly #ajv: Ajv2020;
  readonly #named: CompiledNames;
  /** Key: a schema. Value: its validation function, as `#compile` returns it. */
  readonly #compiled = new Map<unknown, ValidateFunction | undefined>();

  /** More schemas may be added to `named` later. Each is compiled once, for all schemas that refer to it. */
  constructor({ named, policy }: Pick<JsonSchemas, 'named' | 'policy'>) {
    this.#ajv = ajvFor(policy);
    this.#named = new CompiledNames(this.#ajv, named);
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
    const key = `schema-${this.#compiled.size}`;
    return this.#named.compile(key, schema);
  }
}

/**
 * The source of a module that exports a check for each of `schemas`, by its name. Serving processes run the module, so that they compile
 * no schema. A schema that cannot be compiled has no check.
 * @throws RangeError if the schemas are nested so deeply that compiling them overflows the stack
 */
export function checkCodeOf(schemas: NamedSchemas, named: NamedSchemas): string {
  const text = JSON.stringify([schemas, named]);
  const ajv = ajvFor(schemaPolicies.servedResponse, {
    // Six times slower, so only for contracts with a name such as `constructor`, which each object inherits.
    ownProperties: Object.getOwnPropertyNames(Object.prototype).some((name) => text.includes(`"${name}"`)),
    code: { source: true, regExp: schemaRegExp },
  });
  const compiledNames = new CompiledNames(ajv, named);
  // The keys have no slash: a `$ref` is relative to the key of its schema.
  const keys = Object.keys(schemas).map((name, index) => [name, `check${index}`] as const);
  const compilable = keys.filter(([name, key]) => compiledNames.compile(key, schemas[name]) !== undefined);
  return standaloneCode.default(ajv, Object.fromEntries(compilable));
}

/**
 * The named schemas of a contract, as far as schemas refer to them. ajv compiles the target of a `$ref` within the schema around it. In a
 * large contract hundreds of schemas refer to each other, and the stack would overflow. So they are compiled one after the other.
 */
class CompiledNames {
  readonly #ajv: Ajv2020;
  readonly #named: NamedSchemas;
  /** Name → the names to which it refers itself; undefined: it cannot be compiled. */
  readonly #refs = new Map<string, readonly string[] | undefined>();

  constructor(ajv: Ajv2020, named: NamedSchemas) {
    this.#ajv = ajv;
    this.#named = named;
  }

  /**
   * `key`: of the schema in ajv, without a slash. Undefined: the schema cannot be compiled, or one to which it refers.
   * @throws RangeError if a schema is nested so deeply within itself that the stack overflows
   */
  compile(key: string, schema: unknown): ValidateFunction | undefined {
    const added: string[] = [];
    try {
      const names = new Set(this.#add(key, schema));
      // The set grows meanwhile.
      for (const name of names) {
        const target = this.#named[name];
        if (target !== undefined && !this.#refs.has(name)) {
          added.push(name);
          this.#refs.set(name, this.#add(keyOf(name), target));
        }
        for (const ref of this.#refs.get(name) ?? []) names.add(ref);
      }
      // ajv takes what is in this set for a schema around the present one: it compiles a call to it, and not the schema.
      for (const one of [key, ...added.map(keyOf)]) this.#ajv._compilations.add(this.#ajv.schemas[one] as SchemaEnv);
      // Those that refer to no other come last, and can be called directly once they are compiled.
      for (const name of added.toReversed()) if (!this.#compileAdded(keyOf(name))) this.#refs.set(name, undefined);
      const validate = this.#compileAdded(key);
      return [...names].every((name) => this.#refs.get(name) !== undefined) ? validate : undefined;
    } catch (error) {
      this.#ajv._compilations.clear();
      for (const name of added) this.#refs.delete(name);
      for (const one of [key, ...added.map(keyOf)]) this.#ajv.removeSchema(one);
      throw error;
    }
  }

  /** @returns the names to which the schema refers */
  #add(key: string, schema: unknown): readonly string[] {
    const names = new Set<string>();
    this.#ajv.addSchema(withKeys(schema, names) as PlainSchema, key);
    return [...names];
  }

  #compileAdded(key: string): ValidateFunction | undefined {
    this.#ajv._compilations.delete(this.#ajv.schemas[key] as SchemaEnv);
    try {
      return this.#ajv.getSchema(key) as ValidateFunction | undefined;
    } catch (error) {
      if (error instanceof RangeError) throw error;
      // A contract may have keywords with values that no validator accepts.
      return undefined;
    }
  }
}

function keyOf(name: string): string {
  return `named-${name}`;
}

function ajvFor(policy: SchemaPolicy, options: Options = {}): Ajv2020 {
  return new Ajv2020({
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
}

/** A copy of the schema whose `$ref`s are keys in ajv. Adds the names to which they lead to `names`. */
function withKeys(schema: unknown, names: Set<string>): unknown {
  if (Array.isArray(schema)) return schema.map((one) => withKeys(one, names));
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => {
    if (key !== '$ref' || typeof value !== 'string' || !value.startsWith(refPrefix))
      return [key, withKeys(value, names)] as const;
    const name = value.slice(refPrefix.length);
    names.add(name);
    return [key, keyOf(name)] as const;
  });
  return Object.fromEntries(entries);
}
