import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { Contract, type Operation, type Schema } from '../support/contract.ts';

const v1 = Contract.read('services/v1/contract/openapi.yaml');
const v2 = Contract.read('services/v2/contract/openapi.yaml');

it('v2 has exactly these breaking changes from v1, and one added field', () => {
  const [before, after] = [new Set(factsOf(v1, v2)), new Set(factsOf(v2, v1))];
  const gone = [...before.difference(after)].map((fact) => `- ${fact}`);
  const come = [...after.difference(before)].map((fact) => `+ ${fact}`);
  expect([...gone, ...come].sort()).toEqual(
    [
      '- GET /drinks/{id}',
      '+ GET /cocktails/{id}',
      '- GET /legacy-search',
      '- GET /ingredients query base: optional string gin|rum|tequila|vodka|whiskey',
      '+ GET /ingredients query base: required string gin|rum|tequila|vodka|whiskey',
      ...['GET /cocktails 200 .cocktails[]', 'POST /cocktails 201 ', 'POST /cocktails sends '].flatMap((cocktail) => [
        `- ${cocktail}.title: string`,
        `+ ${cocktail}.name: string`,
        `- ${cocktail}.price: string`,
        `+ ${cocktail}.price: number`,
        `+ ${cocktail}.glass: string`,
      ]),
    ].sort(),
  );
});

it('routes.yaml moves exactly the routes of v1 that v2 does not have', () => {
  const { routes } = parse(readFileSync('config/routes.yaml', 'utf8'));
  const [paths, later] = [v1, v2].map((contract) => pathsOf(contract));
  const moved: Record<string, string | null> = routes['/v1'].moved;
  expect(new Set(Object.keys(moved))).toEqual(paths?.difference(later ?? new Set()));
  for (const target of Object.values(moved)) if (target !== null) expect(later).toContain(target);
});

function pathsOf(contract: Contract): Set<string> {
  return new Set([...contract.operations.keys()].map((name) => name.split(' ')[1] ?? ''));
}

/** A contract as flat lines. An operation that `other` lacks is one line, without its details. */
function factsOf(contract: Contract, other: Contract): string[] {
  return [...contract.operations].flatMap(([name, operation]) => [
    name,
    ...(other.operations.has(name) ? detailsOf(contract, operation).map((detail) => `${name} ${detail}`) : []),
  ]);
}

function detailsOf(contract: Contract, { parameters = [], requestBody, responses }: Operation): string[] {
  const asked = parameters.map((parameter) => {
    const { in: place, name, required, schema } = contract.resolve(parameter);
    return `${place} ${name}: ${required ? 'required' : 'optional'} ${fieldsOf(contract, schema, '')[0]?.slice(2)}`;
  });
  const sent = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => fieldsOf(contract, schema, 'sends '));
  const answered = Object.entries(responses).flatMap(([status, response]) => [
    status,
    ...Object.values(contract.resolve(response).content ?? {}).flatMap(({ schema }) =>
      fieldsOf(contract, schema, `${status} `),
    ),
  ]);
  return [...asked, ...sent, ...answered];
}

function fieldsOf(contract: Contract, schema: Schema, at: string): string[] {
  const { type, properties = {}, items, enum: allowed = [] } = resolved(contract, schema);
  const own = [`${at}: ${type}${allowed.length > 0 ? ` ${allowed.join('|')}` : ''}`];
  const inside = Object.entries(properties).flatMap(([name, field]) => fieldsOf(contract, field, `${at}.${name}`));
  return [...own, ...inside, ...(items ? fieldsOf(contract, items, `${at}[]`) : [])];
}

function resolved(contract: Contract, schema: Schema): Schema {
  return schema.$ref === undefined ? schema : contract.resolve<Schema>({ $ref: schema.$ref });
}
