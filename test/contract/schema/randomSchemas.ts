import { pick, type Random } from '../../../gateway/contracts/adapters/proof/patternTexts.ts';

export type Json = Readonly<Record<string, unknown>>;

/** A contract with one response, whose schema is `schema`. */
export interface RandomContract {
  readonly openapi: '3.0.3' | '3.1.0';
  readonly schema: unknown;
  /** The named schemas that `schema` may refer to. */
  readonly schemas: Readonly<Record<string, unknown>>;
}

const names = ['A', 'B', 'C'] as const;
const fields = ['a', 'b', 'kind'] as const;
const scalars: readonly unknown[] = [1, 'a', 'A', true, 2, 'b'];
const deepest = 3;

/** Generates contracts with the keywords that are read in more than one way. */
export class SchemaGenerator {
  readonly #random: Random;
  #isOpenApi30 = true;
  /** The schemas that may be referred to. A named schema is not a part of itself, except below a field or an item. */
  #targets: readonly string[] = names;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): RandomContract {
    this.#isOpenApi30 = this.#chance(0.5);
    const schemas = Object.fromEntries(
      names.map((name, index) => {
        this.#targets = names.slice(index + 1);
        return [name, this.#named()];
      }),
    );
    this.#targets = names;
    return { openapi: this.#isOpenApi30 ? '3.0.3' : '3.1.0', schema: this.#schema(0), schemas };
  }

  /** Values of which some are probably valid. */
  values({ schema, schemas }: RandomContract, count: number): unknown[] {
    return Array.from({ length: count }, (_one, index) =>
      index < fixedValues.length && index % 2 === 0 ? fixedValues[index] : this.#value(schema, schemas, 0),
    );
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** The entries that are drawn, each with its probability. */
  #some(entries: readonly (readonly [key: string, probability: number, value: () => unknown])[]): Json {
    return Object.fromEntries(
      entries.flatMap(([key, probability, value]) => (this.#chance(probability) ? [[key, value()]] : [])),
    );
  }

  /** The schema of a field or an item. */
  #inner(depth: number): unknown {
    const targets = this.#targets;
    this.#targets = names;
    const schema = this.#schema(depth);
    this.#targets = targets;
    return schema;
  }

  #schema(depth: number): unknown {
    const kind = this.#random();
    if (kind < 0.03 && !this.#isOpenApi30) return this.#chance(0.5);
    if (kind < 0.35 || depth >= deepest) return this.#nullable(this.#scalar());
    if (kind < 0.5) return this.#nullable(this.#object(depth));
    if (kind < 0.58) return this.#nullable(this.#list(depth));
    if (kind < 0.7 && this.#targets.length > 0) return this.#reference();
    if (kind < 0.84) return this.#nullable(this.#choice(depth));
    if (kind < 0.92) return this.#nullable(this.#intersection(depth));
    if (kind < 0.96) return this.#nullable({ ...this.#type(), not: this.#chance(0.2) ? {} : this.#scalar() });
    if (this.#isOpenApi30) return this.#nullable({});
    return {
      if: this.#scalar(),
      ...this.#some([
        ['then', 0.8, () => this.#schema(depth + 1)],
        ['else', 0.6, () => this.#schema(depth + 1)],
      ]),
    };
  }

  #named(): unknown {
    return this.#chance(0.6) ? this.#nullable(this.#object(1)) : this.#schema(1);
  }

  /** Contracts keep `nullable` when they move to OpenAPI 3.1. */
  #nullable(schema: Json): Json {
    return this.#chance(0.25) ? { ...schema, nullable: !this.#chance(0.1) } : schema;
  }

  #type(): Json {
    const types = ['string', 'integer', 'number', 'boolean'] as const;
    if (this.#chance(0.2)) return {};
    if (this.#isOpenApi30 || this.#chance(0.5)) return { type: pick(types, this.#random) };
    return { type: [pick(types, this.#random), this.#chance(0.7) ? 'null' : pick(types, this.#random)] };
  }

  #scalar(): Json {
    const type = this.#type();
    const listed = (): unknown[] => scalars.filter(() => this.#chance(0.4)).concat(this.#chance(0.2) ? [null] : []);
    const limit = (): number => Math.floor(this.#random() * 4);
    return {
      ...type,
      ...this.#some([
        ['enum', 0.25, () => [pick(scalars, this.#random), ...listed()]],
        ['const', this.#isOpenApi30 ? 0 : 0.1, () => pick([...scalars, null], this.#random)],
        ['minimum', 0.15, limit],
        ['exclusiveMinimum', 0.1, () => (this.#isOpenApi30 ? this.#chance(0.5) : limit())],
        ['multipleOf', 0.05, () => pick([1, 0.01, 2], this.#random)],
        ['maxLength', 0.1, limit],
        ['pattern', 0.06, () => pick(['^[ab]', '^[\\w-.]$', '('], this.#random)],
        ['format', 0.15, () => pick(['int32', 'int64', 'date', 'date-time', 'uuid', 'email', 'other'], this.#random)],
      ]),
    };
  }

  #object(depth: number): Json {
    const present = fields.filter(() => this.#chance(0.6));
    const property = (name: string): unknown => {
      const schema = name === 'kind' && this.#chance(0.5) ? { type: 'string' } : this.#inner(depth + 1);
      const isWriteOnly = typeof schema === 'object' && this.#chance(0.1);
      return isWriteOnly ? { ...schema, writeOnly: true } : schema;
    };
    return {
      ...(this.#chance(0.85) ? { type: 'object' } : {}),
      ...(present.length > 0 ? { properties: Object.fromEntries(present.map((name) => [name, property(name)])) } : {}),
      ...this.#some([
        ['required', 0.5, () => fields.filter(() => this.#chance(0.5)).concat(this.#chance(0.05) ? ['a'] : [])],
        ['additionalProperties', 0.3, () => (this.#chance(0.6) ? false : this.#inner(depth + 1))],
        ['minProperties', 0.05, () => 1],
        ['maxProperties', 0.05, () => 2],
      ]),
    };
  }

  #list(depth: number): Json {
    return {
      type: 'array',
      items: this.#inner(depth + 1),
      ...this.#some([
        ['minItems', 0.2, () => 1],
        ['uniqueItems', 0.2, () => true],
        ['prefixItems', this.#isOpenApi30 ? 0 : 0.2, () => [this.#inner(depth + 1)]],
      ]),
    };
  }

  #reference(): Json {
    const beside = this.#some([
      ['nullable', 0.2, () => true],
      ['type', 0.15, () => pick(['string', 'object'], this.#random)],
      ['description', 0.2, () => 'text'],
      ['required', 0.1, () => ['a']],
    ]);
    return { ...beside, $ref: `#/components/schemas/${pick(this.#targets, this.#random)}` };
  }

  #choice(depth: number): Json {
    const keyword = this.#chance(0.6) ? 'oneOf' : 'anyOf';
    const hasDiscriminator = this.#targets === names && this.#chance(0.3);
    const count = 1 + Math.floor(this.#random() * 3);
    const alternatives = hasDiscriminator
      ? names.slice(0, count).map((name) => ({ $ref: `#/components/schemas/${name}` }))
      : Array.from({ length: count }, () => this.#schema(depth + 1));
    const nullAlternative = !this.#isOpenApi30 && this.#chance(0.25) ? [{ type: 'null' }] : [];
    const mapping = this.#chance(0.5) ? { mapping: { a: '#/components/schemas/A', b: 'B' } } : {};
    return {
      ...this.#some([['type', 0.15, () => pick(['object', 'string'], this.#random)]]),
      [keyword]: [...alternatives, ...nullAlternative],
      ...(hasDiscriminator ? { discriminator: { propertyName: 'kind', ...mapping } } : {}),
    };
  }

  #intersection(depth: number): Json {
    const count = 1 + Math.floor(this.#random() * 2);
    const parts = Array.from({ length: count }, () =>
      this.#targets.length > 0 && this.#chance(0.5)
        ? this.#reference()
        : this.#chance(0.5)
          ? this.#object(depth + 1)
          : this.#schema(depth + 1),
    );
    return { ...this.#some([['type', 0.2, () => pick(['object', 'string'], this.#random)]]), allOf: parts };
  }

  #value(schema: unknown, schemas: RandomContract['schemas'], depth: number): unknown {
    if (typeof schema !== 'object' || schema === null || depth > 6 || this.#chance(0.1))
      return pick(fixedValues, this.#random);
    const { $ref, allOf, oneOf, anyOf, properties, items, enum: values, nullable, type } = schema as Json;
    if ((nullable === true || [type].flat().includes('null')) && this.#chance(0.15)) return null;
    const below = (one: unknown): unknown => this.#value(one, schemas, depth + 1);
    if (typeof $ref === 'string') return below(schemas[$ref.split('/').at(-1) ?? '']);
    if (Array.isArray(allOf)) {
      const parts = allOf.map(below);
      return parts.every((part) => typeof part === 'object' && part !== null && !Array.isArray(part))
        ? Object.assign({}, ...parts)
        : pick(parts, this.#random);
    }
    const choice = oneOf ?? anyOf;
    if (Array.isArray(choice)) return below(pick(choice, this.#random));
    if (properties !== undefined || type === 'object') {
      const members = Object.entries((properties ?? {}) as Json).filter(() => this.#chance(0.8));
      const value = members.map(([name, one]) => [name, name === 'kind' && this.#chance(0.5) ? 'A' : below(one)]);
      return Object.fromEntries(this.#chance(0.2) ? [...value, ['other', 1]] : value);
    }
    if (items !== undefined) return Array.from({ length: Math.floor(this.#random() * 3) }, () => below(items));
    if (Array.isArray(values) && this.#chance(0.7)) return pick(values, this.#random);
    const typed = fixedValues.filter((value) => [type].flat().includes(typeOfValue(value)));
    return pick(typed.length > 0 ? typed : fixedValues, this.#random);
  }
}

const fixedValues: readonly unknown[] = [
  null,
  'a',
  1,
  true,
  {},
  [],
  'A',
  2,
  0,
  'abcd',
  { kind: 'a' },
  { kind: 'A' },
  { kind: 'z' },
  { a: 1 },
  { a: null, b: 'a' },
  1.5,
  19.99,
  1e19,
  2 ** 31,
  ['a'],
  ['a', 'a'],
  [1, null],
  '2026-02-28',
  '2026-02-30',
  '2026-02-28T10:00:00Z',
  '2026-02-28 10:00:00Z',
  '2026-02-28T10:00:00+0100',
  'urn:uuid:00000000-0000-4000-8000-000000000000',
  '00000000-0000-4000-8000-000000000000',
  'x@example.com',
  '-',
  { a: 'a', b: 'b', kind: 'B' },
];

function typeOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
