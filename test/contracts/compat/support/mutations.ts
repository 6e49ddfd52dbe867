import { Random } from '../../../support/random.ts';
import { type Draft, schemasOf } from './randomContract.ts';

export interface Mutation {
  readonly name: string;
  /** Whether it can be done to a schema, and if so does it. */
  readonly apply: (schema: Draft) => boolean;
  /** Undefined: not tried there. */
  readonly request: string | undefined;
  readonly response: string | undefined;
}

interface ObjectDraft extends Draft {
  properties: Record<string, Draft>;
  required: string[];
}

function isObject(schema: Draft): schema is ObjectDraft {
  return schema['properties'] !== undefined;
}

function onObjects(change: (schema: ObjectDraft) => boolean): Mutation['apply'] {
  return (schema) => isObject(schema) && change(schema);
}

function on(matches: Draft, change: Draft): Mutation['apply'] {
  return (schema) => {
    const isIt = Object.entries(matches).every(([key, value]) => JSON.stringify(schema[key]) === JSON.stringify(value));
    if (isIt) Object.assign(schema, change);
    return isIt;
  };
}

const text = { type: 'string', minLength: 2 };
export const mutations: readonly Mutation[] = [
  {
    name: 'a field goes',
    apply: onObjects(({ properties, required }) => {
      const name = Object.keys(properties).find((one) => !required.includes(one));
      if (name !== undefined) delete properties[name];
      return name !== undefined;
    }),
    request: 'request-field-removed',
    response: 'response-field-removed',
  },
  {
    name: 'an optional field comes',
    apply: onObjects(({ properties }) => Reflect.set(properties, 'fresh', { type: 'string' })),
    request: 'optional-param-added',
    response: 'response-field-added',
  },
  {
    name: 'a required field comes',
    apply: onObjects(({ properties, required }) => {
      properties['fresh'] = { type: 'string' };
      return required.push('fresh') > 0;
    }),
    request: 'request-field-required',
    response: 'response-field-added',
  },
  {
    name: 'a field becomes required',
    apply: onObjects(({ properties, required }) => {
      const name = Object.keys(properties).find((one) => !required.includes(one));
      return name !== undefined && required.push(name) > 0;
    }),
    request: 'request-field-required',
    response: 'response-strengthened',
  },
  {
    name: 'a field becomes optional',
    apply: onObjects(({ required }) => required.shift() !== undefined),
    request: 'param-relaxed',
    response: 'response-field-weakened',
  },
  {
    name: 'a type changes',
    apply: on({ type: 'boolean' }, { type: 'integer' }),
    request: 'request-type-changed',
    response: 'response-type-changed',
  },
  {
    name: 'a type widens',
    apply: on({ type: 'boolean' }, { type: ['boolean', 'string'] }),
    request: 'param-relaxed',
    response: 'response-type-changed',
  },
  {
    name: 'a union narrows',
    apply: on({ type: ['integer', 'string'] }, { type: 'string' }),
    request: 'request-type-changed',
    response: 'response-strengthened',
  },
  {
    name: 'a format changes',
    apply: on({ format: 'uuid' }, { format: 'uri' }),
    request: 'request-type-changed',
    response: 'response-type-changed',
  },
  {
    name: 'null is let in',
    apply: on({ type: 'number' }, { type: ['number', 'null'] }),
    request: 'param-relaxed',
    response: 'response-field-weakened',
  },
  {
    name: 'null is kept out',
    apply: on({ type: ['string', 'null'] }, { type: 'string' }),
    request: 'request-constraint-tightened',
    response: 'response-strengthened',
  },
  {
    name: 'a value goes',
    apply: on({ enum: ['red', 'green', 'blue'] }, { enum: ['red', 'blue'] }),
    request: 'filter-value-removed',
    response: 'response-strengthened',
  },
  {
    name: 'a value comes',
    apply: on({ enum: ['red', 'green', 'blue'] }, { enum: ['red', 'green', 'blue', 'pink'] }),
    request: 'filter-value-added',
    response: 'response-value-added',
  },
  {
    name: 'a limit tightens',
    apply: on(text, { minLength: 5 }),
    request: 'request-constraint-tightened',
    response: 'response-strengthened',
  },
  {
    name: 'a limit goes',
    apply: on(text, { minLength: 0 }),
    request: 'param-relaxed',
    response: 'response-value-added',
  },
  {
    name: 'a list becomes shorter',
    apply: on({ type: 'array' }, { maxItems: 3 }),
    request: 'request-constraint-tightened',
    response: 'response-strengthened',
  },
  {
    name: 'a description comes',
    apply: (schema) => schema['$ref'] === undefined && Reflect.set(schema, 'description', 'told'),
    request: 'docs-only',
    response: 'docs-only',
  },
];

/** Applies the change at one of the possible places; undefined if there is none. */
export function mutated(
  contract: Draft,
  apply: Mutation['apply'],
  seed: number,
  side: 'In' | 'Out',
): Draft | undefined {
  const copy = structuredClone(contract);
  const places = new Random(seed).shuffled(schemasOf(copy).filter(({ root }) => root.startsWith(side)));
  return places.some(({ schema }) => apply(schema)) ? copy : undefined;
}
