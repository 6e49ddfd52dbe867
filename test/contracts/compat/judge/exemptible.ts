import type { Documents } from '../../../../gateway/contract/document/documents.ts';
import { openContract } from '../../../../gateway/contract/document/open.ts';

/** A list of drinks and a single drink, which share a schema, and bars with a schema of their own. */
export async function contractOf(
  ofDrinks: readonly string[],
  ofBars: readonly string[],
  prefix = '',
): Promise<Documents> {
  const fields = (names: readonly string[]) => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  });
  const drink = { $ref: '#/components/schemas/Drink' };
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
  const get = (schema: unknown, parameters: readonly unknown[] = []) => ({
    get: { parameters, responses: { 200: { description: 'fine', content: { 'application/json': { schema } } } } },
  });
  const text = JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'drinks', version: '1' },
    paths: {
      [`${prefix}/drinks`]: get({ type: 'array', items: drink }),
      [`${prefix}/drinks/{id}`]: get(drink, [id]),
      [`${prefix}/bars`]: get(fields(ofBars)),
    },
    components: { schemas: { Drink: fields(ofDrinks) } },
  });
  return openContract('-', { cwd: '/', stdin: () => text, allowRemote: false });
}
