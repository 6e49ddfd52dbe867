import type { Documents } from '../../../contract/document/documents.ts';
import { below, entriesOf, isList, itemsOf, type Located, ownValue } from '../../../contract/document/located.ts';
import type { Direction, Route } from '../../../contract/routes.ts';
import type { Schema } from '../../../contract/schema/schema.ts';
import { Schemas } from '../../../contract/schema/schemas.ts';
import { isMap } from '../../../shared/json.ts';
import type { PartStep } from '../diff/change.ts';

/** The example of a body or a header in the contract, and a value made from its schema. */
export interface ExampleBody {
  readonly example: unknown;
  readonly generated: SampleValue | undefined;
}

/** Finds and generates example values in one contract. */
export class ContractExamples {
  readonly #documents: Documents;
  readonly #schemas: Schemas;

  constructor(documents: Documents) {
    this.#documents = documents;
    this.#schemas = new Schemas(documents);
  }

  /** `parts` lead to the body or header: a response, then a media type. Undefined if there is none. */
  bodyAt(route: Route, parts: readonly PartStep[]): ExampleBody | undefined {
    const [part, next] = parts;
    const direction = part?.kind === 'request_body' ? 'request' : 'response';
    const holder = this.#holderOfBody(route, part);
    if (holder === undefined) return undefined;
    if (next?.kind === 'header') return this.#header(holder, next.name, direction);
    // Any other part is an alternative of a choice, and an example shows only one alternative.
    if (next && next.kind !== 'media_type') return undefined;
    const media = this.#mediaType(holder, next?.type ?? '');
    return media && this.#body(media, direction);
  }

  /** The parameters of the operation, and those of its path item that it does not override. */
  parametersOf({ operation, item }: Route): Located[] {
    const parameters = [item, operation].flatMap((holder) =>
      itemsOf(below(holder, 'parameters')).map((parameter) => this.#documents.resolve(parameter)),
    );
    const keyOf = (parameter: Located): string => ['in', 'name'].map((key) => below(parameter, key).value).join(' ');
    return [...new Map(parameters.map((parameter) => [keyOf(parameter), parameter])).values()];
  }

  valueOfParameter(parameter: Located): unknown {
    return this.#exampleIn(parameter) ?? this.#generated(below(parameter, 'schema'), 'request')?.value;
  }

  #body(media: Located, direction: Direction): ExampleBody {
    return { example: this.#exampleIn(media), generated: this.#generated(below(media, 'schema'), direction) };
  }

  #generated(schema: Located, direction: Direction): SampleValue | undefined {
    return schema.value === undefined ? undefined : generateFrom(this.#schemas.schemaAt(schema), direction);
  }

  #header(holder: Located, name: string, direction: Direction): ExampleBody | undefined {
    const headers = entriesOf(below(holder, 'headers'));
    const header = headers.find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1];
    return header && this.#body(this.#documents.resolve(header), direction);
  }

  #holderOfBody({ operation }: Route, part: PartStep | undefined): Located | undefined {
    if (part?.kind === 'request_body') {
      const body = below(operation, 'requestBody');
      return isMap(body.value) ? this.#documents.resolve(body) : undefined;
    }
    if (part?.kind !== 'response') return undefined;
    const { status } = part;
    const responses = below(operation, 'responses');
    const keys = [status, status.toLowerCase(), `${status.slice(0, 1)}XX`, 'default'];
    const response = keys.map((key) => below(responses, key)).find(({ value }) => isMap(value));
    return response && this.#documents.resolve(response);
  }

  /** The named media type, or else the first JSON one. */
  #mediaType(holder: Located, name: string): Located | undefined {
    const types = entriesOf(below(holder, 'content'));
    const named = types.find(([type]) => type.toLowerCase().replace(/\s/g, '') === name);
    return (named ?? types.find(([type]) => /[/+]json/i.test(type)))?.[1];
  }

  #exampleIn(holder: Located): unknown {
    const example = below(holder, 'example').value;
    if (example !== undefined) return example;
    const [first] = entriesOf(below(holder, 'examples'));
    if (first === undefined) return undefined;
    const { value } = this.#documents.resolve(first[1]);
    return isMap(value) ? value['value'] : undefined;
  }
}

/** The value at a path, in which `[]` is the first item of a list. */
export function sampleAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const key of path) {
    if (isList(current)) current = key.startsWith('[') ? current[0] : undefined;
    else current = isMap(current) ? ownValue(current, key) : undefined;
  }
  return current;
}

/** An example value for a migration guide, or a part of such a value: from the contract, or generated from a schema. */
export interface SampleValue {
  readonly value: unknown;
  /** False if the whole value is in the contract, as an example, a default or an enum value. */
  readonly isGenerated: boolean;
  /** The values that an object was assembled from. */
  readonly fields?: ReadonlyMap<string, SampleValue>;
  /** The value that a list was made from, as its only item. */
  readonly item?: SampleValue;
}

/**
 * The generated value at a key, in which `[]` is the item of a list. A part without a sample of its own gets `isGenerated`
 * from `whole`.
 */
export function generatedValueAt(whole: SampleValue | undefined, key: string): SampleValue | undefined {
  if (whole === undefined) return undefined;
  const item = key.startsWith('[') ? whole.item : undefined;
  const part = item ?? whole.fields?.get(key);
  if (part) return part;
  const value = sampleAt(whole.value, [key]);
  return value === undefined ? undefined : { value, isGenerated: whole.isGenerated };
}

// Enough to show the shape of a value. A schema may be recursive, or have thousands of fields.
const maxDepth = 6;
const maxFields = 60;

const formatExamples: Readonly<Record<string, string>> = {
  'date-time': '2030-01-31T12:00:00Z',
  date: '2030-01-31',
  time: '12:00:00Z',
  uuid: '00000000-0000-4000-8000-000000000000',
  email: 'somebody@example.com',
  uri: 'https://example.com/',
  'uri-reference': '/path',
};

/**
 * A value that fits a schema in most cases: its example, its default, its first enum value, or a value of its type. Patterns
 * and limits other than `minimum` are not considered. `enclosing`: the schemas whose values contain this one, outermost first.
 */
function generateFrom(
  schema: Schema,
  direction: Direction,
  enclosing: readonly Schema[] = [],
): SampleValue | undefined {
  if (enclosing.includes(schema) || enclosing.length > maxDepth) return undefined;
  const example = exampleOf(schema);
  if (example) return example;
  const { view } = schema;
  const [firstEnumValue] = view.enumValues?.values() ?? [];
  if (firstEnumValue) return { value: firstEnumValue.value, isGenerated: false };
  const withThisSchema = [...enclosing, schema];
  const [alternative] = view.choices[0]?.alternatives ?? [];
  const base = alternative && generateFrom(alternative.schema, direction, withThisSchema);
  if (view.types?.has('object') || view.properties.size > 0)
    return generateObject(schema, base, direction, withThisSchema);
  if (base) return base;
  if (view.types?.has('array')) {
    const item = view.items && generateFrom(view.items.schema, direction, withThisSchema);
    return { value: item ? [item.value] : [], isGenerated: item?.isGenerated ?? true, ...(item ? { item } : {}) };
  }
  return { value: generateScalar(schema), isGenerated: true };
}

function exampleOf({ parts }: Schema): SampleValue | undefined {
  for (const { map } of parts) {
    const { example, examples, default: byDefault } = map as Record<'example' | 'examples' | 'default', unknown>;
    const value = example ?? (isList(examples) ? examples[0] : undefined) ?? map['const'] ?? byDefault;
    if (value !== undefined) return { value, isGenerated: false };
  }
  return undefined;
}

/**
 * `base`: the value of the first alternative of the schema, to which the fields are added. `enclosing`: the schemas around the
 * fields, with this one at the end.
 */
function generateObject(
  { view }: Schema,
  base: SampleValue | undefined,
  direction: Direction,
  enclosing: readonly Schema[],
): SampleValue {
  const hidingKeyword = direction === 'request' ? 'readOnly' : 'writeOnly';
  const fields = [...view.properties].slice(0, maxFields).flatMap(([name, field]): [string, SampleValue][] => {
    const value = field.has(hidingKeyword) ? undefined : generateFrom(field.schema, direction, enclosing);
    return value ? [[name, value]] : [];
  });
  const fieldValues = Object.fromEntries(fields.map(([name, { value }]) => [name, value]));
  const isPartGenerated = fields.some(([, field]) => field.isGenerated) || base?.isGenerated === true;
  const isEmpty = fields.length === 0 && !base;
  return {
    value: { ...(typeof base?.value === 'object' ? base.value : {}), ...fieldValues },
    isGenerated: isPartGenerated || isEmpty,
    fields: new Map([...(base?.fields ?? []), ...fields]),
  };
}

function generateScalar({ view, parts }: Schema): unknown {
  const minimum = parts.map(({ map }) => map['minimum']).find((value) => typeof value === 'number');
  if (view.types?.has('string')) {
    const format = parts.map(({ map }) => map['format']).find((value) => typeof value === 'string') ?? '';
    return Object.hasOwn(formatExamples, format) ? formatExamples[format] : 'text';
  }
  if (view.types?.has('integer')) return minimum ?? 1;
  if (view.types?.has('number')) return minimum ?? 1.5;
  if (view.types?.has('boolean')) return true;
  return view.nullable ? null : 'any value';
}
