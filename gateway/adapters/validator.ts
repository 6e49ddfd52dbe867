import { Ajv2020, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import type { JsonValue } from '../config/adapterSettings.ts';
import { pointerToken } from '../shared/json.ts';
import type { NamedSchemas, SubSchema } from './branches.ts';
import { refPrefix } from './bundle.ts';
import { textFormats } from './formats.ts';
import { schemaRegExp } from './patternTexts.ts';

/** Validates values with the schemas of one bundle. */
export class SchemaValidator {
  readonly #ajv = new Ajv2020({
    strict: false,
    meta: false,
    validateSchema: false,
    formats: textFormats,
    logger: false,
    addUsedSchema: false,
    multipleOfPrecision: 9,
    code: { regExp: schemaRegExp },
  });
  /** Key: a schema. Value: its validation function, as `#validatorOf` returns it. */
  readonly #compiled = new Map<SubSchema, ValidateFunction | undefined>();

  /** More names may be added to `named` later. Each is compiled once, for all schemas that refer to it. */
  constructor(named: NamedSchemas) {
    this.#ajv.addSchema({ components: { schemas: named } }, bundleId);
  }

  isValid(schema: SubSchema, value: JsonValue): boolean {
    return this.faultOf(schema, value) === undefined;
  }

  /** The JSON Pointer of the first part that is not valid, and what it violates. Undefined: the value is valid. */
  faultOf(schema: SubSchema, value: JsonValue): { readonly pointer: string; readonly message: string } | undefined {
    const validate = this.#validatorOf(schema);
    if (!validate || passes(validate, value)) return undefined;
    // ajv lists the error of a `oneOf` or `anyOf` after the errors of its alternatives.
    const error = validate.errors?.at(-1);
    return { pointer: error?.instancePath ?? '', message: error?.message ?? 'is not valid' };
  }

  /** Undefined: the schema cannot be compiled, so no value can be checked. */
  #validatorOf(schema: SubSchema): ValidateFunction | undefined {
    if (!this.#compiled.has(schema)) this.#compiled.set(schema, this.#compile(schema));
    return this.#compiled.get(schema);
  }

  #compile(schema: SubSchema): ValidateFunction | undefined {
    try {
      return this.#ajv.compile(withBundle(schema) as SubSchema);
    } catch {
      return undefined;
    }
  }
}

/** A schema that refers to itself without an end cannot be checked: all values pass. */
function passes(validate: ValidateFunction, value: JsonValue): boolean {
  try {
    return validate(value) as boolean;
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
}

const bundleId = 'bundle';

/** A copy of the schema, with the id of the bundle in front of each `$ref`. */
function withBundle(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withBundle);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => {
    const isRef = key === '$ref' && typeof value === 'string';
    return [key, isRef ? `${bundleId}${value}` : withBundle(value)] as const;
  });
  return Object.fromEntries(entries);
}

/**
 * The named schemas that a part of a contract refers to, directly or indirectly. A comparison of the part needs only these.
 */
export function schemasUsedBy(part: unknown, named: NamedSchemas): NamedSchemas {
  const used: Record<string, SubSchema> = {};
  const waiting: unknown[] = [part];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === 'object' && next !== null) waiting.push(...Object.values(next));
    // A `$ref`, or the target of a discriminator.
    if (typeof next !== 'string' || !next.startsWith(refPrefix)) continue;
    const name = next.slice(refPrefix.length);
    if (Object.hasOwn(used, name) || !Object.hasOwn(named, name)) continue;
    used[name] = named[name] ?? true;
    waiting.push(used[name]);
  }
  return used;
}

const checkOptions: Options = {
  strict: false,
  validateSchema: false,
  validateFormats: false,
  multipleOfPrecision: 9,
  code: { source: true, regExp: schemaRegExp },
  logger: false,
};

/**
 * The source of a module that exports a check for each schema of `$defs` whose name is in `names`. Serving processes run the
 * module, so that they compile no schema. A schema that cannot be compiled has no check.
 */
export function checkCodeOf($defs: Readonly<Record<string, unknown>>, names: readonly string[]): string {
  const ajv = new Ajv2020(checkOptions);
  const $id = 'adapted';
  ajv.addSchema({ $id, $defs });
  const refs = names.map((name) => {
    const token = pointerToken(name);
    return [name, `${$id}#/$defs/${encodeURIComponent(token)}`] as const;
  });
  const compilable = refs.filter(([, ref]) => {
    try {
      return ajv.getSchema(ref) !== undefined;
    } catch {
      return false;
    }
  });
  return standaloneCode.default(ajv, Object.fromEntries(compilable));
}
