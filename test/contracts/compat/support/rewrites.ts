import type { Random } from '../../../support/random.ts';
import type { Draft } from './randomContract.ts';

/** Writes a contract in another way; the contract is a copy that may be changed. */
export type Rewrite = (contract: Contract, dice: Random) => unknown;

export interface Contract {
  paths: Record<string, Draft>;
  components: { schemas: Record<string, Draft> } & Record<string, unknown>;
}

type Parameter = Record<'name' | 'in', string>;
type Operation = { parameters: Parameter[]; responses: Draft } & Draft;

export const rewrites: Readonly<Record<string, Rewrite>> = {
  'keys in another order': (contract, dice) => shuffleKeys(contract, dice),
  'what a $ref leads to in place of it': (contract) => {
    const { schemas } = contract.components;
    onSchemas(contract, (schema) => {
      const name = String(schema['$ref'] ?? '').replace('#/components/schemas/', '');
      return schemas[name] ? structuredClone(schemas[name]) : schema;
    });
  },
  'every field behind a $ref': (contract) => {
    const made: Record<string, Draft> = {};
    onSchemas(contract, (schema) => {
      const properties = schema['properties'] as Record<string, Draft> | undefined;
      if (properties) schema['properties'] = mapped(properties, (field, name) => extracted(field, name, made));
      return schema;
    });
    Object.assign(contract.components.schemas, made);
  },
  'every alternative behind a $ref': (contract) => {
    const made: Record<string, Draft> = {};
    onSchemas(contract, (schema) => {
      for (const keyword of ['oneOf', 'allOf']) {
        const list = schema[keyword] as Draft[] | undefined;
        if (list) schema[keyword] = list.map((one) => extracted(one, `Alternative${Object.keys(made).length}`, made));
      }
      return schema;
    });
    Object.assign(contract.components.schemas, made);
  },
  'objects in two parts': (contract) =>
    onSchemas(contract, (schema) => {
      const { properties, type, ...others } = schema;
      if (properties === undefined) return schema;
      const [first = [], ...rest] = Object.entries(properties as Draft).map((entry) => [entry]);
      return {
        allOf: [
          { type, properties: Object.fromEntries(first) },
          { ...others, properties: Object.fromEntries(rest.flat()) },
        ],
      };
    }),
  'required apart from the fields': (contract) =>
    onSchemas(contract, ({ required, ...others }) =>
      required === undefined ? others : { ...others, allOf: [...((others['allOf'] as Draft[]) ?? []), { required }] },
    ),
  'null as an alternative': (contract, dice) =>
    onSchemas(contract, (schema) => {
      const { type, ...others } = schema;
      if (!Array.isArray(type) || !type.includes('null')) return schema;
      return { [dice.of(['oneOf', 'anyOf'])]: [{ ...others, type: type[0] }, { type: 'null' }] };
    }),
  'null as a flag': (contract) =>
    onSchemas(contract, (schema) => {
      const { type } = schema;
      return Array.isArray(type) && type.includes('null') ? { ...schema, type: type[0], nullable: true } : schema;
    }),
  'one value as a list': (contract) =>
    onSchemas(contract, ({ const: value, ...others }) => (value === undefined ? others : { ...others, enum: [value] })),
  'a list of values as described alternatives': (contract) =>
    onSchemas(contract, ({ enum: values, ...others }) =>
      Array.isArray(values)
        ? { ...others, oneOf: values.map((value) => ({ const: value, title: `the ${value}` })) }
        : others,
    ),
  'types as alternatives': (contract) =>
    onSchemas(contract, (schema) => {
      const { type, ...others } = schema;
      if (!Array.isArray(type) || type.includes('null')) return schema;
      return { ...others, anyOf: type.map((one) => ({ type: one })) };
    }),
  'a single alternative': (contract, dice) =>
    onSchemas(contract, (schema) => ({ [dice.of(['oneOf', 'anyOf', 'allOf'])]: [schema] })),
  'lists in another order': (contract, dice) => {
    onSchemas(contract, (schema) => {
      const lists = ['required', 'enum', 'oneOf', 'type'].filter((keyword) => Array.isArray(schema[keyword]));
      return {
        ...schema,
        ...Object.fromEntries(lists.map((keyword) => [keyword, dice.shuffled(schema[keyword] as unknown[])])),
      };
    });
    for (const operation of operationsOf(contract)) operation.parameters = dice.shuffled(operation.parameters);
  },
  'parts in another order': (contract, dice) =>
    onSchemas(contract, (schema) =>
      Array.isArray(schema['allOf']) ? { ...schema, allOf: dice.shuffled(schema['allOf']) } : schema,
    ),
  'parameters of the path': (contract) => {
    for (const item of Object.values(contract.paths)) {
      const operations = Object.values(item) as Operation[];
      item['parameters'] = operations[0]?.parameters.filter((one) => one.in === 'path');
      for (const one of operations) one.parameters = one.parameters.filter((parameter) => parameter.in !== 'path');
    }
  },
  'path parameters of another name': (contract) => {
    for (const operation of operationsOf(contract)) {
      for (const one of operation.parameters) if (one.in === 'path') one.name = 'key';
    }
    contract.paths = Object.fromEntries(
      Object.entries(contract.paths).map(([path, item]) => [path.replace('{id}', '{key}'), item]),
    );
  },
  'header names in lower case': (contract) => {
    for (const operation of operationsOf(contract)) {
      for (const one of operation.parameters) if (one.in === 'header') one.name = one.name.toLowerCase();
      for (const response of Object.values(operation.responses) as Draft[]) {
        const headers = (response['headers'] ?? {}) as Draft;
        response['headers'] = Object.fromEntries(
          Object.entries(headers).map(([name, header]) => [name.toLowerCase(), header]),
        );
      }
    }
  },
  'responses, parameters and bodies in the components': (contract) => {
    const kept: Record<'responses' | 'parameters' | 'requestBodies', Draft> = {
      responses: {},
      parameters: {},
      requestBodies: {},
    };
    const keep = (kind: keyof typeof kept, value: unknown): Draft => {
      const name = `${kind}${Object.keys(kept[kind]).length}`;
      kept[kind][name] = value;
      return { $ref: `#/components/${kind}/${name}` };
    };
    for (const operation of operationsOf(contract)) {
      operation.responses = mapped(operation.responses as Record<string, Draft>, (one) => keep('responses', one));
      Object.assign(operation, { parameters: operation.parameters.map((one) => keep('parameters', one)) });
      if (operation['requestBody']) operation['requestBody'] = keep('requestBodies', operation['requestBody']);
    }
    Object.assign(contract.components, kept);
  },
};

function operationsOf(contract: Contract): Operation[] {
  return Object.values(contract.paths).flatMap((item) => Object.values(item) as Operation[]);
}

function extracted(schema: Draft, name: string, made: Record<string, Draft>): Draft {
  if (schema['$ref'] !== undefined) return schema;
  made[name] = schema;
  return { $ref: `#/components/schemas/${name}` };
}

function mapped<T, R>(map: Record<string, T>, change: (value: T, key: string) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value, key)]));
}

/** Changes every schema of the components, the inner ones first. */
function onSchemas(contract: Contract, change: (schema: Draft) => Draft): void {
  const { schemas } = contract.components;
  const changed = mapped(structuredClone(schemas), (schema) => changedWithin(schema, change));
  Object.assign(schemas, changed);
}

function changedWithin(schema: Draft, change: (schema: Draft) => Draft): Draft {
  const copy = { ...schema };
  for (const keyword of ['items', 'additionalProperties']) {
    if (copy[keyword] !== undefined) copy[keyword] = changedWithin(copy[keyword] as Draft, change);
  }
  for (const keyword of ['oneOf', 'anyOf', 'allOf']) {
    if (Array.isArray(copy[keyword])) copy[keyword] = copy[keyword].map((one) => changedWithin(one, change));
  }
  const properties = copy['properties'] as Record<string, Draft> | undefined;
  if (properties) copy['properties'] = mapped(properties, (field) => changedWithin(field, change));
  return change(copy);
}

function shuffleKeys(value: unknown, dice: Random): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffleKeys(item, dice));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    dice.shuffled(Object.entries(value)).map(([key, inner]) => [key, shuffleKeys(inner, dice)]),
  );
}
