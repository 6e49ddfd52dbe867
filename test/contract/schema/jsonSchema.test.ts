import { expect, it } from 'vitest';
import { Documents } from '../../../gateway/contract/document/documents.ts';
import { below, type Located } from '../../../gateway/contract/document/located.ts';
import { JsonSchemas } from '../../../gateway/contract/schema/jsonSchema.ts';
import { schemaPolicies } from '../../../gateway/contract/schema/policies.ts';
import { Schemas } from '../../../gateway/contract/schema/schemas.ts';
import { deepRef, deepSchemas } from './deepSchemas.ts';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

function documentsWith(schemas: object): { documents: Documents; at: (name: string) => Located } {
  const root = { openapi: '3.1.0', components: { schemas } };
  const documents = new Documents({ name: 'contract', root }, () => {
    throw new Error('The contract refers to no other file.');
  });
  return { documents, at: (name) => below(below(below(documents.root, 'components'), 'schemas'), name) };
}

it('keeps no named schema of a failed conversion', () => {
  const { documents, at } = documentsWith({
    // Fine refers to Broken, which is only begun when Fine is complete.
    Fine: { properties: { broken: ref('Broken') } },
    Broken: { properties: { fine: ref('Fine'), missing: ref('missing') } },
    UsesBroken: { items: ref('Broken') },
    UsesFine: { items: ref('Fine') },
    UsesText: { items: ref('Text') },
    Text: { type: 'string' },
  });
  const schemas = new JsonSchemas(documents, schemaPolicies.adaptedResponse);
  schemas.schema(at('UsesText'));
  for (const name of ['UsesBroken', 'UsesFine', 'UsesBroken'])
    expect(() => schemas.schema(at(name))).toThrow('which does not exist');
  expect(schemas.named).toEqual({ Text: { type: 'string' } });
});

it('keeps no named schema of a conversion that overflows the stack', () => {
  const { documents, at } = documentsWith({ ...deepSchemas(), Uses: { items: deepRef } });
  const schemas = new JsonSchemas(documents, schemaPolicies.evidence);
  expect(() => schemas.schema(at('Uses'))).toThrow('contract#/components/schemas/Uses: has schemas that are nested');
  expect(schemas.named).toEqual({});
});

it('does not answer whether null is valid after it could not find out', () => {
  const { documents, at } = documentsWith({ Broken: { not: ref('missing') } });
  const schema = new Schemas(documents).schemaAt(at('Broken'));
  for (const _ of [1, 2, 3]) expect(() => schema.acceptsNull).toThrow('which does not exist');
});
