import { isMap, type JsonMap } from '../../shared/json.ts';
import type { Documents } from '../document/documents.ts';
import { addressOf, below, entriesOf, isList, itemsOf, type Located, refOf, rootOf } from '../document/located.ts';
import { CompareError, catchingStackOverflow } from '../failure.ts';
import type { SchemaPolicy } from './policies.ts';

/** A JSON Schema (2020-12) as plain data. Its `$ref`s lead to named schemas. */
export type PlainSchema = Readonly<Record<string, unknown>>;

export type SubSchema = PlainSchema | boolean;

/** The schemas to which `$ref`s lead, by name. */
export type NamedSchemas = Readonly<Record<string, SubSchema>>;

export const refPrefix = '#/components/schemas/';

/** The value is a schema. */
export const schemaKeywords: ReadonlySet<string> = new Set(
  `items additionalProperties unevaluatedItems unevaluatedProperties propertyNames contains contentSchema not if then
  else`.split(/\s+/),
);
/** The value is a list of schemas, each about the whole value. */
export const combiningKeywords: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf']);
/** The value is an object of schemas. Its keys are names or patterns. */
export const schemaMapKeywords: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas']);
const typeNames: ReadonlySet<unknown> = new Set('null boolean integer number string array object'.split(' '));

type Usable = (value: unknown) => unknown;
const finite: Usable = (value) => (Number.isFinite(value) ? value : undefined);
const count: Usable = (value) => (Number.isSafeInteger(value) && Number(value) >= 0 ? value : undefined);
const text: Usable = (value) => (typeof value === 'string' ? value : undefined);
const unchanged: Usable = (value) => value;

/**
 * Returns the value of a keyword, or undefined if a validator would refuse it. Some contracts have `required: true` beside a field, for
 * example, and one such keyword would keep the whole schema from being checked. Other keywords have no effect on values and are left out.
 */
const usableValueOf: Readonly<Record<string, Usable>> = {
  ...Object.fromEntries(['minimum', 'maximum'].map((key) => [key, finite])),
  // A flag in OpenAPI 3.0.
  ...Object.fromEntries(
    ['exclusiveMinimum', 'exclusiveMaximum'].map((key) => [
      key,
      (value: unknown) => (typeof value === 'boolean' ? value : finite(value)),
    ]),
  ),
  ...Object.fromEntries(
    ['Length', 'Items', 'Properties', 'Contains'].flatMap((what) => [
      [`min${what}`, count],
      [`max${what}`, count],
    ]),
  ),
  multipleOf: (value) => (Number(finite(value)) > 0 ? value : undefined),
  type: (value) => {
    const types = [...new Set([value].flat().filter((type) => typeNames.has(type)))];
    return types.length > 1 ? types : types[0];
  },
  enum: (value) => (isList(value) && value.length > 0 ? value : undefined),
  const: unchanged,
  format: text,
  pattern: text,
  uniqueItems: (value) => (typeof value === 'boolean' ? value : undefined),
  dependentRequired: (value) =>
    isMap(value)
      ? Object.fromEntries(
          Object.entries(value).flatMap(([name, list]) => (isList(list) ? [[name, strings(list)]] : [])),
        )
      : undefined,
  ...Object.fromEntries(
    'title default deprecated readOnly writeOnly contentEncoding contentMediaType'
      .split(' ')
      .map((key) => [key, unchanged]),
  ),
};

/** Where a schema is. */
interface Context {
  /**
   * The names of fields that messages of this direction never have, because the schema around this one marks them. Empty unless this one
   * is in the `allOf`, `anyOf` or `oneOf` of that schema.
   */
  readonly absent: ReadonlySet<string>;
  /** Within `not` and `if`, a lenient reading would make the whole schema stricter. */
  readonly isExact: boolean;
}

const noNames: ReadonlySet<string> = new Set();
const outermost: Context = { absent: noNames, isExact: false };

/** The schemas of one contract as plain data in the form of OpenAPI 3.1. A `$ref` to another file becomes a `$ref` to a named schema. */
export class JsonSchemas {
  /** The schemas to which `$ref`s lead. Grows with each new schema. */
  readonly named: Record<string, SubSchema> = {};
  readonly policy: SchemaPolicy;
  readonly #documents: Documents;
  /** Schema of the contract → its conversion. */
  readonly #converted = new Map<unknown, SubSchema>();
  /** Schema of the contract → its name in `named`: as the policy reads it, and as the specification does. */
  readonly #names = { lenient: new Map<unknown, string>(), exact: new Map<unknown, string>() };
  /** The named schemas that the current conversion has added. */
  readonly #added: { readonly target: Located; readonly name: string; readonly isExact: boolean }[] = [];
  /** The keyword of fields that only messages of the opposite direction have. */
  readonly #absenceKeyword: 'readOnly' | 'writeOnly' | undefined;

  constructor(documents: Documents, policy: SchemaPolicy) {
    this.policy = policy;
    this.#documents = documents;
    this.#absenceKeyword = policy.direction && (policy.direction === 'request' ? 'readOnly' : 'writeOnly');
  }

  /**
   * The same object for the same schema.
   * @throws CompareError for a `$ref` without a target, unless the policy allows it, and for schemas nested too deeply
   */
  schema(located: Located): SubSchema {
    const known = this.#converted.get(located.value);
    if (known !== undefined) return known;
    const schema = catchingStackOverflow(addressOf(located.place), () => this.#allOrNothing(located));
    if (isMap(located.value)) this.#converted.set(located.value, schema);
    return schema;
  }

  /** A conversion that fails takes back the named schemas that it has added: those not yet converted would accept every value. */
  #allOrNothing(located: Located): SubSchema {
    try {
      const schema = this.#schema(located, outermost);
      // One after the other, not within each other: in a large contract, hundreds of schemas refer to each other. The loop adds to this list.
      for (const { target, name, isExact } of this.#added)
        this.named[name] = this.#schema(target, { absent: noNames, isExact });
      return schema;
    } catch (error) {
      for (const { target, name, isExact } of this.#added) {
        this.#namesOf(isExact).delete(target.value);
        delete this.named[name];
      }
      throw error;
    } finally {
      this.#added.length = 0;
    }
  }

  /** The target if the value is a `$ref`, otherwise the value. */
  resolved(located: Located): Located {
    return this.#documents.resolve(located);
  }

  #schema(located: Located, context: Context): SubSchema {
    const { value } = located;
    if (typeof value === 'boolean') return value;
    if (!isMap(value)) return {};
    if (refOf(value) === undefined) return this.#keywords(located, value, context);
    const target = this.#orNone(() => this.#targetOf(located));
    const ref = target ? { $ref: this.#ref(target, context) } : {};
    // OpenAPI 3.0 ignores keywords beside a `$ref`.
    return this.#documents.isOpenApi30 ? ref : { ...this.#keywords(located, value, context), ...ref };
  }

  /** Undefined: there is no target, and the policy allows that. */
  #orNone<Found>(find: () => Found): Found | undefined {
    try {
      return find();
    } catch (error) {
      if (error instanceof CompareError && this.policy.allowsBrokenRefs) return undefined;
      throw error;
    }
  }

  /** Adds to `names` the fields of a schema and of its parts that messages do not have. */
  #absentFields(located: Located, names: Set<string>, seen = new Set<unknown>()): ReadonlySet<string> {
    const { value } = located;
    const keyword = this.#absenceKeyword;
    if (keyword === undefined || !isMap(value) || seen.has(value)) return names;
    seen.add(value);
    const target = (one: Located): Located => this.#orNone(() => this.resolved(one)) ?? one;
    const isAbsent = ({ value: field }: Located): boolean => isMap(field) && field[keyword] === true;
    for (const [name, field] of entriesOf(below(located, 'properties')))
      if (isAbsent(field) || isAbsent(target(field))) names.add(name);
    for (const part of itemsOf(below(located, 'allOf'))) this.#absentFields(part, names, seen);
    if (refOf(value) !== undefined) this.#absentFields(target(located), names, seen);
    return names;
  }

  /** Follows a chain of `$ref` to the first schema with other keywords. Keywords beside a `$ref` apply since OpenAPI 3.1. */
  #targetOf(located: Located): Located {
    // Throws if a `$ref` of the chain is broken, or if it is a circle.
    const last = this.#documents.resolve(located);
    const hasNoEffect = ({ value }: Located): boolean =>
      this.#documents.isOpenApi30 || !isMap(value) || Object.keys(value).every((key) => !this.#isConverted(key));
    let target = this.#documents.follow(located);
    while (target.value !== last.value && hasNoEffect(target)) target = this.#documents.follow(target);
    return target;
  }

  #ref(target: Located, { isExact }: Context): string {
    const names = this.#namesOf(isExact);
    const knownName = names.get(target.value);
    if (knownName !== undefined) return `${refPrefix}${knownName}`;
    const base = target.place.key.replace(/[^\w.-]/g, '_') || 'schema';
    let name = base;
    for (let number = 2; Object.hasOwn(this.named, name); number += 1) name = `${base}_${number}`;
    names.set(target.value, name);
    // Reserved until the schema is converted.
    this.named[name] = {};
    this.#added.push({ target, name, isExact });
    return `${refPrefix}${name}`;
  }

  #namesOf(isExact: boolean): Map<unknown, string> {
    return this.#names[isExact ? 'exact' : 'lenient'];
  }

  #isConverted(key: string): boolean {
    return (
      Object.hasOwn(usableValueOf, key) ||
      schemaKeywords.has(key) ||
      combiningKeywords.has(key) ||
      schemaMapKeywords.has(key) ||
      /^(?:nullable|required|prefixItems|additionalItems|discriminator|x-.*)$/.test(key)
    );
  }

  #keywords(located: Located, map: JsonMap, { absent, isExact }: Context): PlainSchema {
    const result: Record<string, unknown> = {};
    const hasParts = [...combiningKeywords].some((key) => isList(map[key]));
    const allAbsent = hasParts || isList(map['required']) ? this.#absentFields(located, new Set(absent)) : noNames;
    const isLenient = !isExact;
    const listOf = (list: Located, context: Context): SubSchema[] =>
      itemsOf(list).map((item) => this.#schema(item, context));
    const inner: Context = { absent: noNames, isExact };
    for (const key of Object.keys(map)) {
      const child = below(located, key);
      const { value } = child;
      if (combiningKeywords.has(key)) {
        if (isList(value) && value.length > 0) result[key] = listOf(child, { absent: allAbsent, isExact });
      } else if (key === 'prefixItems' || (key === 'items' && isList(value))) {
        // Before JSON Schema 2020-12, `items` may be a list, and `additionalItems` is the schema of further items.
        if (isList(value) && value.length > 0) result['prefixItems'] ??= listOf(child, inner);
      } else if (key === 'additionalItems') {
        if (isList(map['items'])) result['items'] = this.#schema(child, inner);
      } else if (key === 'required') {
        const names = strings(value).filter((name) => !allAbsent.has(name));
        if (isList(value)) result[key] = names;
      } else if (schemaMapKeywords.has(key)) {
        result[key] = Object.fromEntries(entriesOf(child).map(([name, one]) => [name, this.#schema(one, inner)]));
      } else if (schemaKeywords.has(key)) {
        const isClosing = value === false && /^(?:additional|unevaluated)Properties$/.test(key);
        if (!(isClosing && isLenient && this.policy.isOpen))
          result[key] = this.#schema(child, { absent: noNames, isExact: isExact || key === 'not' || key === 'if' });
      } else if (key === 'discriminator') result[key] = this.#discriminator(child, inner);
      else if (key.startsWith('example') ? this.policy.hasExamples : key.startsWith('x-')) result[key] = value;
      else if (Object.hasOwn(usableValueOf, key)) {
        const usable = usableValueOf[key]?.(value);
        if (usable !== undefined) result[key] = usable;
      }
    }
    moveExclusive(result);
    if (isLenient && this.policy.checksDiscriminator) addDiscriminatingField(located, result);
    if (isLenient && this.policy.oneOfIsAnyOf) replaceOneOf(result);
    // `nullable` counts in every release: many contracts kept it when they moved to OpenAPI 3.1.
    return map['nullable'] === true ? withNull(result) : result;
  }

  #discriminator(located: Located, context: Context): unknown {
    const mapping = entriesOf(below(located, 'mapping')).map(([name, target]) => {
      const ref = String(target.value);
      const schemas = below(below(rootOf(target.place.file), 'components'), 'schemas');
      // `cat.yaml` may be the name of a schema or a file.
      const $ref = below(schemas, ref).value === undefined ? ref : `${refPrefix}${ref}`;
      const found = this.#orNone(() => this.#targetOf({ ...target, value: { $ref } }));
      return [name, found ? this.#ref(found, context) : ref] as const;
    });
    return isMap(located.value) ? { ...located.value, mapping: Object.fromEntries(mapping) } : located.value;
  }
}

function strings(value: unknown): string[] {
  return isList(value) ? [...new Set(value.filter((one) => typeof one === 'string'))] : [];
}

/** In OpenAPI 3.0 the exclusive limits are `true` beside `minimum` and `maximum`; since 3.1 they are numbers. */
function moveExclusive(schema: Record<string, unknown>): void {
  for (const [flag, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof schema[flag] !== 'boolean') continue;
    const isExclusive = schema[flag] && schema[limit] !== undefined;
    delete schema[flag];
    if (!isExclusive) continue;
    schema[flag] = schema[limit];
    delete schema[limit];
  }
}

/** Adds `schemas` to the `allOf`. */
function addToAllOf(schema: Record<string, unknown>, added: SubSchema): void {
  schema['allOf'] = [...(isList(schema['allOf']) ? schema['allOf'] : []), added];
}

function replaceOneOf(schema: Record<string, unknown>): void {
  const { oneOf } = schema;
  if (oneOf === undefined) return;
  delete schema['oneOf'];
  if (schema['anyOf'] === undefined) schema['anyOf'] = oneOf;
  else addToAllOf(schema, { anyOf: oneOf });
}

/**
 * Limits the field by which clients choose an alternative to the values that the discriminator knows: the keys of its mapping, and the
 * names of the schemas. Does nothing if other values are allowed too.
 */
function addDiscriminatingField(located: Located, schema: Record<string, unknown>): void {
  const { value: discriminator } = below(located, 'discriminator');
  const alternatives = ['oneOf', 'anyOf'].flatMap((keyword) => itemsOf(below(located, keyword)));
  const refs = alternatives.map(({ value }) => (isMap(value) ? refOf(value) : undefined));
  if (!isMap(discriminator) || refs.length === 0 || !refs.every((ref) => ref !== undefined)) return;
  const { propertyName, mapping, defaultMapping } = discriminator;
  if (typeof propertyName !== 'string' || defaultMapping !== undefined) return;
  const names = [...Object.keys(isMap(mapping) ? mapping : {}), ...refs.map((ref) => ref.split('/').at(-1))];
  addToAllOf(schema, { properties: Object.fromEntries([[propertyName, { enum: [...new Set(names)] }]]) });
}

// These may refuse null, whatever the type allows.
const refusingKeywords = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'const'];

/** Adds null to what a schema accepts. Many contracts of OpenAPI 3.0 omit it from the `enum`. */
function withNull(schema: Record<string, unknown>): PlainSchema {
  const { type, enum: values } = schema;
  if (Object.keys(schema).length === 0) return schema;
  if (type === undefined || refusingKeywords.some((keyword) => schema[keyword] !== undefined))
    return { anyOf: [schema, { type: 'null' }] };
  const listed = isList(values) && !values.includes(null) ? { enum: [...values, null] } : {};
  return { ...schema, ...listed, type: [...new Set([type, 'null'].flat())] };
}
