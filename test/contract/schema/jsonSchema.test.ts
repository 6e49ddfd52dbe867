import { expect, it } from 'vitest';
import { Documents } from '../../../gateway/contract/document/documents.ts';
import { below, type Located } from '../../../gateway/contract/document/located.ts';
import { JsonSchemas, type SubSchema } from '../../../gateway/contract/schema/jsonSchema.ts';
import { schemaPolicies } from '../../../gateway/contract/schema/policies.ts';
import { Schemas } from '../../../gateway/contract/schema/schemas.ts';
import { SchemaValidator } from '../../../gateway/contract/schema/validator.ts';
import { deepRef, deepSchemas } from '../../contracts/shadow/pairs.ts';

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

it('validates with schemas that refer to each other over thousands of steps', () => {
  const steps = 5_000;
  const chain = Array.from({ length: steps }, (_one, step) => [
    `Step${step}`,
    { type: 'object', required: ['id'], properties: { next: ref(`Step${step + 1}`), first: ref('Step0') } },
  ]);
  const { documents, at } = documentsWith({ ...Object.fromEntries(chain), [`Step${steps}`]: { type: 'integer' } });
  const schemas = new JsonSchemas(documents, schemaPolicies.adaptedResponse);
  const validator = new SchemaValidator(schemas);
  const fault = (step: number, value: unknown) => validator.faultOf(schemas.schema(at(`Step${step}`)), value)?.pointer;
  expect(fault(0, { id: 1, next: { id: 1, first: { id: 1 } } })).toBe(undefined);
  expect(fault(0, { id: 1, next: { id: 1, first: {} } })).toBe('/next/first');
  // The last schemas were compiled with the first one.
  expect(fault(steps - 1, { id: 1, next: 'text' })).toBe('/next');
});

it('checks nothing with a schema that leads to one that no validator can compile', () => {
  const named = {
    Broken: { enum: [] },
    Fine: { type: 'object', properties: { broken: ref('Broken') } },
    Other: { type: 'object', properties: { text: { type: 'string' } } },
  };
  const validator = new SchemaValidator({ named, policy: schemaPolicies.adaptedResponse });
  const isValid = (name: string, value: unknown) => validator.isValid(ref(name), value);
  expect([isValid('Fine', 1), isValid('Broken', 1), isValid('Fine', 1)]).toEqual([true, true, true]);
  expect([isValid('Other', 1), isValid('Other', { text: 1 }), isValid('Other', {})]).toEqual([false, false, true]);
});

it('compiles again after a schema that overflows the stack', () => {
  let deep: SubSchema = { type: 'integer' };
  for (let depth = 0; depth < 20_000; depth += 1) deep = { items: deep };
  const named = { Deep: deep, Text: { type: 'string' } };
  const validator = new SchemaValidator({ named, policy: schemaPolicies.adaptedResponse });
  const both = { anyOf: [ref('Deep'), ref('Text')] };
  for (const _ of [1, 2]) expect(() => validator.isValid(both, 1)).toThrow(RangeError);
  expect(validator.isValid({ properties: { text: ref('Text') } }, { text: 1 })).toBe(false);
});
