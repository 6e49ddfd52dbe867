import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import { isMap } from '../../shared/json.ts';
import { isList } from '../document/located.ts';
import { formatsOf } from './formats.ts';
import {
  combiningKeywords,
  type JsonSchemas,
  type NamedSchemas,
  type PlainSchema,
  refPrefix,
  type SubSchema,
  schemaKeywords,
  schemaMapKeywords,
} from './jsonSchema.ts';
import { schemaRegExp } from './patterns.ts';
import { type SchemaPolicy, schemaPolicies } from './policies.ts';

export type SchemaError = ErrorObject;

// They say nothing about values.
const annotations: ReadonlySet<string> = new Set(
  'title description default deprecated readOnly writeOnly example examples discriminator'.split(' '),
);

/** Validates values with the schemas of one contract. */
export class SchemaValidator {
  readonly #ajv: Ajv2020;
  readonly #named: CompiledNames;
  /** A schema → its check, or the error of an overflow. Undefined: it cannot be compiled. */
  readonly #compiled = new Map<unknown, ValidateFunction | RangeError | undefined>();

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
   * @throws RangeError if a schema is nested so deeply that compiling it overflows the stack
   */
  errorsOf(schema: unknown, value: unknown): readonly SchemaError[] {
    if (!this.#compiled.has(schema)) this.#compiled.set(schema, this.#compile(schema));
    const validate = this.#compiled.get(schema);
    if (validate instanceof RangeError) throw validate;
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
    for (const validate of this.#compiled.values()) if (typeof validate === 'function') validate.errors = null;
  }

  #compile(schema: unknown): ValidateFunction | RangeError | undefined {
    try {
      return this.#named.compile(`schema-${this.#compiled.size}`, schema);
    } catch (error) {
      if (error instanceof RangeError) return error;
      throw error;
    }
  }
}

/**
 * The source of a module that exports a check for each of `schemas`, by its name. Serving processes run the module, so that they compile
 * no schema. A schema that cannot be compiled has no check.
 * @throws RangeError if a schema is nested so deeply that compiling it overflows the stack, or if schemas refer to each other over about
 * a thousand steps
 */
export function checkCodeOf(schemas: NamedSchemas, named: NamedSchemas): string {
  const text = JSON.stringify([schemas, named]);
  const ajv = ajvFor(schemaPolicies.servedResponse, {
    // Six times slower, so only for contracts with a name such as `constructor`, which each object inherits.
    ownProperties: Object.getOwnPropertyNames(Object.prototype).some((name) => text.includes(`"${name}"`)),
    code: { source: true, regExp: schemaRegExp, process: withOwnFields },
  });
  const compiledNames = new CompiledNames(ajv, named);
  // The keys have no slash: a `$ref` is relative to the key of its schema.
  const keys = Object.keys(schemas).map((name, index) => [name, `check${index}`] as const);
  const compilable = keys.filter(([name, key]) => compiledNames.compile(key, schemas[name]) !== undefined);
  return withOwnFields(standaloneCode.default(ajv, Object.fromEntries(compilable)));
}

/**
 * The named schemas of a contract, as far as schemas refer to them. ajv compiles the target of a `$ref` within the schema around it. In a
 * large contract hundreds of schemas refer to each other, and the stack would overflow. So they are compiled one after the other.
 */
class CompiledNames {
  readonly #ajv: Ajv2020;
  readonly #named: NamedSchemas;
  /** Name → the names in the `$ref`s of its schema. */
  readonly #targets = new Map<string, readonly string[]>();
  /** The names that cannot be compiled. */
  readonly #failed = new Set<string>();

  constructor(ajv: Ajv2020, named: NamedSchemas) {
    this.#ajv = ajv;
    this.#named = named;
  }

  /**
   * `key`: of the schema in ajv. It must not be the key of a name (`keyOf`).
   * @returns undefined if this schema, or one to which it leads, cannot be compiled
   * @throws RangeError if a schema is nested so deeply that the stack overflows
   */
  compile(key: string, schema: unknown): ValidateFunction | undefined {
    const begun: string[] = [];
    try {
      const targets = this.#add(key, schema);
      if (targets === undefined) return undefined;
      const names = this.#addAll(targets, begun);
      const envs = [key, ...names.map(keyOf)].flatMap((one) => this.#ajv.schemas[one] ?? []);
      // ajv takes the schemas in `_compilations` for ones that are being compiled: it compiles a call to them, not the schemas themselves.
      for (const env of envs) this.#ajv._compilations.add(env);
      for (const name of names)
        if (!this.#compileAdded(keyOf(name), this.#targets.get(name) ?? [])) this.#failed.add(name);
      const validate = this.#compileAdded(key, targets);
      return this.#leadsToFailed(targets) ? undefined : validate;
    } catch (error) {
      this.#ajv._compilations.clear();
      for (const one of [key, ...begun.map(keyOf)]) this.#ajv.removeSchema(one);
      for (const name of begun) {
        this.#targets.delete(name);
        this.#failed.delete(name);
      }
      throw error;
    }
  }

  /**
   * Adds the schemas that are not known yet, and those to which they lead. `begun`: gets their names, also if one overflows the stack.
   * @returns their names. A schema comes after those to which it refers, except in a circle: ajv has to know the fields of a schema when it
   * compiles `unevaluatedProperties` beside a `$ref` to it.
   */
  #addAll(targets: readonly string[], begun: string[]): readonly string[] {
    const names: string[] = [];
    const path: { readonly name?: string; readonly targets: Iterator<string> }[] = [{ targets: targets.values() }];
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const { value: name, done } = last.targets.next();
      if (done) {
        path.pop();
        if (last.name !== undefined) names.push(last.name);
      } else if (!this.#targets.has(name)) {
        begun.push(name);
        const schema = this.#named[name];
        const found = schema === undefined ? undefined : this.#add(keyOf(name), schema);
        if (found === undefined) this.#failed.add(name);
        this.#targets.set(name, found ?? []);
        path.push({ name, targets: (found ?? []).values() });
      }
    }
    return names;
  }

  /** @returns the names to which the schema refers. Undefined: ajv does not accept it */
  #add(key: string, schema: unknown): readonly string[] | undefined {
    const names = new Set<string>();
    const copy = withKeys(schema, names) as PlainSchema;
    return unlessRefused(() => {
      this.#ajv.addSchema(copy, key);
      return [...names];
    });
  }

  #compileAdded(key: string, targets: readonly string[]): ValidateFunction | undefined {
    const env = this.#ajv.schemas[key];
    if (env) this.#ajv._compilations.delete(env);
    if (targets.some((name) => this.#failed.has(name))) return undefined;
    return unlessRefused(() => this.#ajv.getSchema(key) as ValidateFunction | undefined);
  }

  #leadsToFailed(targets: readonly string[]): boolean {
    const names = new Set(targets);
    // The loop adds to this set.
    for (const name of names) {
      if (this.#failed.has(name)) return true;
      for (const target of this.#targets.get(name) ?? []) names.add(target);
    }
    return false;
  }
}

/** Undefined: a contract may have keywords with values that no validator accepts. @throws RangeError */
function unlessRefused<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError) throw error;
    return undefined;
  }
}

/** Has no slash: a `$ref` is relative to the key of its schema. */
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
    code: { regExp: schemaRegExp, process: withOwnFields },
    ...options,
  });
}

/**
 * Generated code in which each check has a copy of the fields that another one knows. ajv adds fields to the object of the other check
 * itself, if both refer to each other. From then on the other check would accept them, too (`unevaluatedProperties`).
 */
function withOwnFields(code: string): string {
  const readFields = /(\bprops\d+ = )((?:validate|wrapper)\d+(?:\.validate)?\.evaluated\.props)(?=;)/g;
  return code.replace(readFields, '$1typeof $2 === "object" ? { ...$2 } : $2');
}

/**
 * A copy of the schema whose `$ref`s are keys in ajv, without keywords that say nothing about values. Adds the names to which the `$ref`s
 * lead to `names`. A `$ref` in data, such as an example, is none.
 */
function withKeys(schema: unknown, names: Set<string>): unknown {
  if (!isMap(schema)) return schema;
  const copyOf = (one: unknown): unknown => withKeys(one, names);
  const keywordOf = (key: string, value: unknown): unknown => {
    if (key === '$ref' && typeof value === 'string' && value.startsWith(refPrefix)) {
      const name = value.slice(refPrefix.length);
      names.add(name);
      return keyOf(name);
    }
    if (schemaKeywords.has(key)) return copyOf(value);
    if (isList(value) && (combiningKeywords.has(key) || key === 'prefixItems')) return value.map(copyOf);
    if (isMap(value) && schemaMapKeywords.has(key))
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copyOf(one)]));
    return value;
  };
  const entries = Object.entries(schema).filter(([key]) => !key.startsWith('x-') && !annotations.has(key));
  return Object.fromEntries(entries.map(([key, value]) => [key, keywordOf(key, value)]));
}
