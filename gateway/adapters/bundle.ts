import type { Documents } from '../contract/document/documents.ts';
import { below, entriesOf, isList, itemsOf, type Located, refOf, rootOf } from '../contract/document/located.ts';
import type { Route } from '../contract/routes.ts';
import { isMap, type JsonMap } from '../shared/json.ts';

/** A JSON Schema (2020-12) as plain data. Its `$ref`s lead to the named schemas of its bundle. */
export type PlainSchema = Readonly<Record<string, unknown>>;

export const refPrefix = '#/components/schemas/';

// The value is a schema.
const schemaKeywords: ReadonlySet<string> = new Set(
  `items additionalProperties unevaluatedItems unevaluatedProperties propertyNames contains contentSchema not if then
  else additionalItems`.split(/\s+/),
);
const noNames: ReadonlySet<string> = new Set();
const combiningKeywords: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf']);
// The value may be a list of schemas.
const schemaListKeywords: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']);
// The value is an object of schemas. Its keys are names or patterns.
const schemaMapKeywords: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas']);
// These are left out: names for references, which are resolved; `nullable`, which is converted; keywords without an effect on values.
const omittedKeywords: ReadonlySet<string> = new Set(
  '$id $anchor $dynamicAnchor $schema $defs definitions nullable example examples description xml externalDocs'.split(
    ' ',
  ),
);

const hasNoEffectBesideRef = (key: string): boolean =>
  key === '$ref' || (omittedKeywords.has(key) && key !== 'nullable');

/**
 * The schemas of one contract as plain data in the form of OpenAPI 3.1. A `$ref` to another file becomes a `$ref` to a named
 * schema. `readOnly` fields are never required in requests, and `writeOnly` fields never in responses.
 */
export class Bundle {
  /** The schemas to which the `$ref`s of the bundle lead. Key: the name. */
  readonly namedSchemas: Record<string, PlainSchema | boolean> = {};
  readonly #documents: Documents;
  readonly #hasExamples: boolean;
  /** Key: a schema of the contract. Value: its name in `namedSchemas`. */
  readonly #names = new Map<unknown, string>();
  /** The keyword of fields that only messages of the opposite direction have. */
  readonly #absenceKeyword: 'readOnly' | 'writeOnly' | undefined;

  /** `hasExamples`: whether the schemas keep their examples. Without a direction, all fields may be required. */
  constructor(
    documents: Documents,
    {
      direction,
      hasExamples = false,
    }: { readonly direction?: 'request' | 'response'; readonly hasExamples?: boolean } = {},
  ) {
    this.#documents = documents;
    this.#hasExamples = hasExamples;
    this.#absenceKeyword = direction && (direction === 'request' ? 'readOnly' : 'writeOnly');
  }

  /** @throws CompareError for a `$ref` without a target */
  schema(located: Located): PlainSchema | boolean {
    return this.#schema(located, noNames);
  }

  /**
   * `absent`: the names of fields that messages of this direction never have, because the schema around `located` marks them with
   * `#absenceKeyword`. Empty unless `located` is in the `allOf`, `anyOf` or `oneOf` of that schema.
   */
  #schema(located: Located, absent: ReadonlySet<string>): PlainSchema | boolean {
    const { value } = located;
    if (typeof value === 'boolean') return value;
    if (!isMap(value)) return {};
    if (refOf(value) === undefined) return this.#converted(located, value, absent);
    const $ref = this.#ref(located);
    if (this.#documents.isOpenApi30) return { $ref };
    const { $ref: _ref, $dynamicRef: _dynamic, ...beside } = value;
    const allAbsent = this.#absentFields(located, new Set(absent));
    return { ...this.#converted({ ...located, value: beside }, beside, allAbsent), $ref };
  }

  /** Adds to `names` the fields of a schema and of its parts that messages do not have. */
  #absentFields(located: Located, names: Set<string>, seen = new Set<unknown>()): ReadonlySet<string> {
    const { value } = located;
    const keyword = this.#absenceKeyword;
    if (keyword === undefined || !isMap(value) || seen.has(value)) return names;
    seen.add(value);
    const isAbsent = ({ value: field }: Located): boolean => isMap(field) && field[keyword] === true;
    for (const [name, field] of entriesOf(below(located, 'properties')))
      if (isAbsent(field) || isAbsent(this.resolved(field))) names.add(name);
    for (const part of itemsOf(below(located, 'allOf'))) this.#absentFields(part, names, seen);
    if (refOf(value) !== undefined) this.#absentFields(this.resolved(located), names, seen);
    return names;
  }

  /** The target if the value is a `$ref`, otherwise the value. */
  resolved(located: Located): Located {
    return this.#documents.resolve(located);
  }

  /** Follows a chain of `$ref` to the first schema with other keywords. Keywords beside a `$ref` apply since OpenAPI 3.1. */
  #targetOf(located: Located): Located {
    const last = this.#documents.resolve(located);
    const hasNoEffect = ({ value }: Located): boolean =>
      this.#documents.isOpenApi30 || !isMap(value) || Object.keys(value).every(hasNoEffectBesideRef);
    let target = this.#documents.follow(located);
    while (target.value !== last.value && hasNoEffect(target)) target = this.#documents.follow(target);
    return target;
  }

  #ref(located: Located): string {
    const target = this.#targetOf(located);
    const knownName = this.#names.get(target.value);
    if (knownName !== undefined) return `${refPrefix}${knownName}`;
    const base = target.place.key.replace(/[^\w.-]/g, '_') || 'schema';
    let name = base;
    for (let count = 2; Object.hasOwn(this.namedSchemas, name); count += 1) name = `${base}_${count}`;
    this.#names.set(target.value, name);
    // Reserved before the schema is converted, because it may contain itself.
    this.namedSchemas[name] = {};
    this.namedSchemas[name] = this.schema(target);
    return `${refPrefix}${name}`;
  }

  #converted(located: Located, value: JsonMap, absent: ReadonlySet<string>): PlainSchema {
    const result: Record<string, unknown> = {};
    const hasParts = [...combiningKeywords].some((key) => isList(value[key]));
    const allAbsent = hasParts || isList(value['required']) ? this.#absentFields(located, new Set(absent)) : noNames;
    for (const key of Object.keys(value)) {
      if (omittedKeywords.has(key) && !(this.#hasExamples && key.startsWith('example'))) continue;
      if (!isUsable(key, value[key])) continue;
      const child = below(located, key);
      if (schemaListKeywords.has(key) && isList(child.value)) {
        result[key] = itemsOf(child).map((item) =>
          this.#schema(item, combiningKeywords.has(key) ? allAbsent : noNames),
        );
      } else if (key === 'required' && isList(child.value)) {
        result[key] = child.value.filter((name) => !allAbsent.has(String(name)));
      } else if (schemaMapKeywords.has(key)) result[key] = this.#map(child);
      else if (schemaKeywords.has(key)) result[key] = this.schema(child);
      else if (key === 'discriminator') result[key] = this.#discriminator(child);
      else result[key] = child.value;
    }
    // As in `compat`, `nullable` counts in every release: many contracts kept it when they moved to OpenAPI 3.1.
    return upgraded(result, value['nullable'] === true);
  }

  #map(located: Located): PlainSchema {
    return fromEntries(entriesOf(located).map(([name, schema]) => [name, this.schema(schema)]));
  }

  #discriminator(located: Located): unknown {
    const mapping = entriesOf(below(located, 'mapping')).map(([name, target]) => {
      const ref = String(target.value);
      const schemas = below(below(rootOf(target.place.file), 'components'), 'schemas');
      // `cat.yaml` may be the name of a schema or a file.
      const $ref = below(schemas, ref).value === undefined ? ref : `${refPrefix}${ref}`;
      return [name, this.#ref({ ...target, value: { $ref } })] as const;
    });
    return isMap(located.value) ? { ...located.value, mapping: Object.fromEntries(mapping) } : located.value;
  }
}

const typeNames: ReadonlySet<unknown> = new Set('null boolean integer number string array object'.split(' '));
const limitKeyword =
  /^(?:minimum|maximum|exclusiveMinimum|exclusiveMaximum|(?:min|max)(?:Length|Items|Properties|Contains))$/;

/**
 * Whether a keyword has a value that a validator accepts. Some contracts have `required: true` beside a field, for example, and
 * one such keyword would keep the whole schema from being checked. A limit with a boolean is a flag of OpenAPI 3.0.
 */
function isUsable(key: string, value: unknown): boolean {
  if (key === 'required') return isList(value) && value.every((name) => typeof name === 'string');
  if (key === 'enum') return isList(value) && value.length > 0;
  if (key === 'type')
    return [value].flat().every((type) => typeNames.has(type)) && !(isList(value) && value.length === 0);
  if (key === 'pattern') return typeof value === 'string';
  if (key === 'uniqueItems') return typeof value === 'boolean';
  if (key === 'multipleOf') return typeof value === 'number' && value > 0;
  return !limitKeyword.test(key) || typeof value === 'number' || typeof value === 'boolean';
}

/** `Object.fromEntries` with the type `PlainSchema`. Even an entry `__proto__` becomes an own member. */
export function fromEntries(entries: Iterable<readonly [name: string, value: unknown]>): PlainSchema {
  return Object.fromEntries(entries);
}

/** Converts `nullable` and the boolean `exclusiveMinimum` and `exclusiveMaximum` of OpenAPI 3.0. */
function upgraded(schema: Record<string, unknown>, isNullable: boolean): PlainSchema {
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
  if (!isNullable) return schema;
  const { type, enum: values } = schema;
  // The parts of an `allOf` do not allow null, so null becomes an alternative.
  if (type === undefined || schema['allOf'] !== undefined)
    return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: 'null' }] };
  if (isList(values) && !values.includes(null)) schema['enum'] = [...values, null];
  return { ...schema, type: [...new Set([type, 'null'].flat())] };
}

/** A response, a request body or a parameter as plain data. */
export type PlainPart = Readonly<Record<string, unknown>>;

/** The responses of an operation by status: `200`, `4XX`, `default`. */
export function responsesOf({ operation }: Route, bundle: Bundle): Map<string, PlainPart> {
  return new Map(
    entriesOf(below(operation, 'responses'))
      .filter(([status]) => !status.startsWith('x-'))
      .map(([status, written]) => {
        const response = bundle.resolved(written);
        const headers = entriesOf(below(response, 'headers')).map(([name, writtenHeader]) => {
          const header = bundle.resolved(writtenHeader);
          return [name, { ...plain(header), ...schemaIn(header, bundle) }] as const;
        });
        const part = { description: '', headers: fromEntries(headers), content: contentOf(response, bundle) };
        return [status === 'default' ? status : status.toUpperCase(), part] as const;
      }),
  );
}

export function requestBodyOf({ operation }: Route, bundle: Bundle): PlainPart | undefined {
  const written = below(operation, 'requestBody');
  if (!isMap(written.value)) return undefined;
  const body = bundle.resolved(written);
  return { required: below(body, 'required').value === true, content: contentOf(body, bundle) };
}

/** The parameters of an operation and of its path item. Key: place and name, such as `query limit`. */
export function parametersOf({ item, operation }: Route, bundle: Bundle): Map<string, PlainPart> {
  const lists = [bundle.resolved(item), operation].map((holder) => itemsOf(below(holder, 'parameters')));
  return new Map(
    lists.flat().map((written) => {
      const parameter = bundle.resolved(written);
      const part = { ...plain(parameter), ...schemaIn(parameter, bundle) };
      return [`${part['in']} ${part['name']}`, part] as const;
    }),
  );
}

/** The members of a header or parameter as in the contract, without examples and description. `schemaIn` converts the schema. */
function plain({ value }: Located): PlainPart {
  if (!isMap(value)) return {};
  const { example: _example, examples: _examples, description: _description, ...otherMembers } = value;
  return otherMembers;
}

/** The member `content` or `schema` of a header, a parameter or a media type. Empty if it has none. */
function schemaIn(located: Located, bundle: Bundle): PlainPart {
  const content = below(located, 'content');
  if (isMap(content.value)) return { content: contentOf(located, bundle) };
  const schema = below(located, 'schema');
  return schema.value === undefined ? {} : { schema: bundle.schema(schema) };
}

function contentOf(holder: Located, bundle: Bundle): PlainPart {
  return fromEntries(
    entriesOf(below(holder, 'content')).map(([type, media]) => [type.toLowerCase(), schemaIn(media, bundle)]),
  );
}

/** Whether bodies of a media type, or of a range such as all types, may be JSON. */
export function mayBeJson(type: string): boolean {
  return isJsonType(type) || /^(?:\*\/\*|application\/\*|text\/json)\s*(?:;|$)/i.test(type);
}

/** Whether bodies of a media type are JSON. */
export function isJsonType(type: string): boolean {
  return /^application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i.test(type);
}
