import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, it } from 'vitest';
import { parseFile } from '../../../gateway/contract/document/contractFiles.ts';
import { Documents } from '../../../gateway/contract/document/documents.ts';
import type { SubSchema } from '../../../gateway/contract/schema/jsonSchema.ts';
import { AdapterSide, entryFor, responsesIn } from '../../../gateway/contracts/adapters/proof/adaptedParts.ts';
import { checkedResponses } from '../../../gateway/contracts/adapters/proof/prepareAdapter.ts';
import { SchemaSampler } from '../../../gateway/contracts/adapters/proof/schemaSampler.ts';
import { compileOperations } from '../../../gateway/contracts/adapters/serving/transform.ts';
import { adapterFixtures, loadFixture } from './fixtures.ts';

const responses = 10_000;

it.each(adapterFixtures('good-adapters'))(
  `good-adapters/$name: ${responses} generated responses are valid after the operations`,
  async (fixture) => {
    const { snapshot } = await loadFixture(fixture, 0);
    const adapter = snapshot?.versions.get('v1')?.adapter;
    const [route] = adapter?.routes ?? [];
    if (!adapter || !route || 'gone' in route) throw new Error('the fixture adapts no route');
    const ajv = addFormats.default(new Ajv2020({ strict: false, multipleOfPrecision: 9 }));
    const other = new AdapterSide(new Documents(parseFile('v2.yaml', fixture.v2), () => raise()), 'v2');
    const own = new AdapterSide(new Documents(parseFile('v1.yaml', fixture.v1), () => raise()), 'v1');
    const { schemas, routes } = checkedResponses(adapter, { own, other });
    ajv.addSchema({ schemas, components: { schemas: own.schemas.response.named } }, 'v1');
    const expected = routes.get(`${route.method} ${route.path}`)?.responses ?? new Map();
    const all = [...responsesIn(other.find(route.to) ?? raise(), other)];
    // A status that v1 does not declare has no schema.
    const declared = all.filter(
      ([status, { content }]) => entryFor(expected, status) && Object.keys(Object(content)).length > 0,
    );
    let valid = 0;
    for (const [status, response] of declared) {
      const content = response['content'] as Record<string, { readonly schema: SubSchema }>;
      const schema = content['application/json']?.schema ?? raise();
      const sampler = new SchemaSampler(other.schemas.response.named, { direction: 'response', seed: 2 });
      const adapt = compileOperations(entryFor(route.responses, status) ?? []);
      const name = entryFor(expected, status)?.get('application/json');
      const validate = ajv.getSchema(`v1#/schemas/${name}`) ?? raise();
      for (let count = 0; count < responses / declared.length; count += 1) {
        const value = sampler.next(schema, (['least', 'most'] as const)[count]) ?? raise();
        const written = JSON.stringify(value);
        const adapted = JSON.stringify(adapt(value));
        if (validate(JSON.parse(adapted))) valid += 1;
        else expect.fail(`${written} became ${adapted}: ${JSON.stringify(validate.errors)}`);
      }
    }
    expect(valid).toBe(Math.ceil(responses / declared.length) * declared.length);
  },
);

function raise(): never {
  throw new Error('the fixture has no such part');
}
