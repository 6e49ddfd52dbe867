import { Random } from '../../../support/random.ts';
import type { Json } from './comparing.ts';

export type Draft = Record<string, unknown>;

/** Makes contracts of OpenAPI 3.1 in which requests and responses share no schema, and no two fields a name. */
export function randomContract(seed: number): Draft {
  return new Maker(new Random(seed)).contract();
}

class Maker {
  readonly #dice: Random;
  #names = 0;

  constructor(dice: Random) {
    this.#dice = dice;
  }

  contract(): Draft {
    const schemas: Draft = {};
    const paths: Draft = {};
    for (const side of ['In', 'Out'] as const) {
      const names = [0, 1, 2, 3].map((index) => `${side}${index}`);
      for (const name of names) schemas[name] = this.#object(2, names);
    }
    for (const index of [0, 1, 2, 3]) {
      const item = this.#operations(index);
      paths[`/things${index}/{id}`] = item;
    }
    return {
      openapi: '3.1.0',
      info: { title: 'things', version: '1.0.0' },
      paths,
      components: { schemas },
    };
  }

  #operations(index: number): Draft {
    const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
    const [send, answer] = [{ $ref: `#/components/schemas/In${index}` }, { $ref: `#/components/schemas/Out${index}` }];
    const list = { type: 'array', items: answer };
    const headers = { 'X-Total': { schema: { type: 'integer' } } };
    const error = { description: 'wrong', content: { 'application/problem+json': { schema: { type: 'object' } } } };
    const fine = { description: 'fine', headers, content: { 'application/json': { schema: list } } };
    const limit = { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 50 } };
    const sort = { name: 'sort', in: 'query', schema: { type: 'string', enum: ['name', 'price', 'year'] } };
    const trace = { name: 'X-Trace', in: 'header', schema: { type: 'string', maxLength: 36 } };
    return {
      get: { parameters: [id, limit, sort, trace], responses: { 200: fine, 404: error } },
      post: {
        parameters: [id],
        requestBody: { required: true, content: { 'application/json': { schema: send } } },
        responses: { 201: { description: 'made', content: { 'application/json': { schema: answer } } }, 400: error },
      },
    };
  }

  #schema(depth: number, names: readonly string[]): Draft {
    const makers = [
      () => ({ type: 'string', minLength: 2, maxLength: 40 }),
      () => ({ type: 'string', format: this.#dice.of(['uuid', 'date-time']) }),
      () => ({ type: 'string', enum: ['red', 'green', 'blue'] }),
      () => ({ type: 'integer', minimum: 0, maximum: 99 }),
      () => ({ type: 'number' }),
      () => ({ const: 'fixed' }),
      () => ({ type: 'boolean' }),
      () => ({ type: ['string', 'null'], maxLength: 30 }),
      () => ({ type: ['integer', 'string'] }),
      () => ({ $ref: `#/components/schemas/${this.#dice.of(names)}` }),
    ];
    const nesting = [
      () => ({ type: 'array', items: this.#schema(depth - 1, names), maxItems: 9 }),
      () => ({ type: 'object', additionalProperties: this.#schema(depth - 1, names) }),
      () => this.#object(depth - 1, names),
      () => ({ oneOf: [this.#object(depth - 1, names), this.#object(depth - 1, names)] }),
      () => ({ allOf: [this.#object(depth - 1, names), this.#object(depth - 1, names)] }),
    ];
    return this.#dice.of<() => Draft>(depth > 0 ? [...makers, ...nesting, ...nesting] : makers)();
  }

  #object(depth: number, names: readonly string[]): Draft {
    const count = 2 + this.#dice.below(3);
    const properties: Draft = {};
    for (let index = 0; index < count; index += 1) {
      this.#names += 1;
      properties[`field${this.#names}`] = this.#schema(depth, names);
    }
    const [first, ...others] = Object.keys(properties);
    const required = [first, ...others.filter(() => this.#dice.happens(0.4))];
    return { type: 'object', required, properties };
  }
}

/** Every schema of the components, with its name. */
export function schemasOf(contract: Json): { readonly root: string; readonly schema: Draft }[] {
  const { schemas } = (contract as { components: { schemas: Record<string, Draft> } }).components;
  return Object.entries(schemas).flatMap(([root, schema]) => below(schema).map((one) => ({ root, schema: one })));
}

function below(schema: Draft): Draft[] {
  const {
    properties = {},
    items,
    additionalProperties,
    oneOf = [],
    allOf = [],
    anyOf = [],
  } = schema as {
    properties?: Record<string, Draft>;
    items?: Draft;
    additionalProperties?: Draft;
    oneOf?: Draft[];
    allOf?: Draft[];
    anyOf?: Draft[];
  };
  const inner = [...Object.values(properties), items, additionalProperties, ...oneOf, ...allOf, ...anyOf];
  return [schema, ...inner.filter((one) => one !== undefined).flatMap(below)];
}
