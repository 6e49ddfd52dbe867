import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { identifier } from '../../gateway/config/schema/words.ts';
import { jsonSchema, type SchemaNode, schemaText } from '../../gateway/config/schema.ts';
import { fixturesIn, parseIn } from './fixtures.ts';

const validate = new Ajv({ strict: false }).compile(JSON.parse(schemaText()));

it('is in gateway/routes.schema.json, which `node gateway/config/writeSchema.ts` writes', () => {
  expect(readFileSync(new URL('../../gateway/routes.schema.json', import.meta.url), 'utf8')).toBe(schemaText());
});

it.each(fixturesIn('warned-routes'))('accepts a file that the gateway accepts: $name', ({ input }) => {
  expect(parseIn('warned-routes', input).faults).toEqual([]);
  validate(parse(input));
  expect(validate.errors).toBe(null);
});

it('accepts the file of this repository', () => {
  validate(parse(readFileSync(new URL('../../config/routes.yaml', import.meta.url), 'utf8')));
  expect(validate.errors).toBe(null);
});

it.each([
  'unknown-key',
  'prefix-shape',
  'type-forms',
  'type-units',
  'type-dates',
  'type-urls',
  'no-route-at-all',
  'api-base',
  'api-section',
  'api-value',
])('refuses what an editor can see is wrong: %s', (name) => {
  const fixture = fixturesIn('bad-routes').find((candidate) => candidate.name === name);
  expect(validate(parse(fixture?.input ?? ''))).toBe(false);
});

it.each(['jwt:sub', 'header:x-client-id', 'jwt:a b', 'header:'])(
  'accepts and refuses the identifier %s, like the gateway',
  (entry) => {
    const isAccepted = identifier.safeParse(entry).success;
    expect(validate({ routes: { '/v1': 'http://127.0.0.1:1' }, usage: { identify: [entry] } })).toBe(isAccepted);
  },
);

it('describes every key', () => {
  expect(undescribed(jsonSchema(), [])).toEqual([]);
});

// `url` and `balance` need no description.
function undescribed(node: SchemaNode, path: readonly string[]): string[] {
  const own = Object.entries(node.properties ?? {}).flatMap(([key, child]) => [
    ...(child['description'] === undefined && key !== 'url' ? [[...path, key].join('.')] : []),
    ...undescribed(child, [...path, key]),
  ]);
  const inner = [node.items, node.additionalProperties, ...(node.anyOf ?? [])];
  return [...own, ...inner.flatMap((child) => (typeof child === 'object' ? undescribed(child, path) : []))];
}
