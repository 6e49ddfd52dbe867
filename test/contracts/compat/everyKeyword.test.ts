import { describe, expect, it } from 'vitest';
import { findingsBetween, type Json } from './support/comparing.ts';
import { changes, contract } from './support/everyKeyword.ts';
import { keywords, named } from './support/everySchemaKeyword.ts';

/** Changes without a finding, and why. */
const untold: ReadonlyMap<string, string> = new Map([
  ['default response', 'it applies to values that are not sent'],
  ['readOnly response', 'read-only fields stay in responses'],
  ['writeOnly request', 'write-only fields stay in requests'],
]);

function withSchema(schema: unknown, direction: 'request' | 'response', type: string): Json {
  const content = { [type]: { schema } };
  const sent = direction === 'request' ? { requestBody: { content } } : {};
  const answer = direction === 'response' ? { content } : {};
  return {
    openapi: '3.2.0',
    info: { title: 'drinks', version: '1.0.0' },
    paths: { '/drinks': { post: { ...sent, responses: { 200: { description: 'fine', ...answer } } } } },
    components: { schemas: named },
  };
}

/** The contract with another value at one place. */
function changed(pointer: string, value: unknown): Json {
  const copy = structuredClone(contract);
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop() ?? '';
  const holder = keys.reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, copy);
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  expect(copy).not.toEqual(contract);
  return copy;
}

describe.each(['request', 'response'] as const)('in a %s', (direction) => {
  it.each(Object.entries(keywords))('a change of `%s` in a schema is reported', (keyword, [old, now]) => {
    const type = keyword.startsWith('xml.') ? 'application/xml' : 'application/json';
    const [before, after] = [withSchema(old, direction, type), withSchema(now, direction, type)];
    const told = [findingsBetween(before, after).length, findingsBetween(after, before).length];
    const isUntold = untold.has(`${keyword} ${direction}`);
    expect(told.map((count) => count > 0)).toEqual([!isUntold, !isUntold]);
  });
});

describe('a contract', () => {
  it.each(changes)('is reported to change at %s', (pointer, value) => {
    const now = changed(pointer, value);
    expect(findingsBetween(contract, now)).not.toEqual([]);
    expect(findingsBetween(now, contract)).not.toEqual([]);
  });

  it('may have another address or version of OpenAPI', () => {
    expect(findingsBetween(contract, changed('/$self', undefined))).toEqual([]);
    expect(findingsBetween(contract, changed('/openapi', '3.1.1'))).toEqual([]);
  });

  it('may define unused components', () => {
    const schemes = '/components/securitySchemes/other';
    expect(findingsBetween(contract, changed(schemes, { type: 'http', scheme: 'basic' }))).toEqual([]);
  });
});
