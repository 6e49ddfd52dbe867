import { expect, it } from 'vitest';
import { formatFault } from '../../../gateway/config/fault.ts';
import type { ConfigResult } from '../../../gateway/config/validate.ts';
import { CompiledAdapter, type CompiledRoute } from '../../../gateway/contracts/adapters/serving/compiledAdapter.ts';
import { adaptResponse } from '../../../gateway/contracts/adapters/serving/exchangeOutsidePipeline.ts';
import { AdaptationError } from '../../../gateway/contracts/adapters/serving/transform.ts';
import { loadFixture, object, type Schema } from './fixtures.ts';

// A value without fields where an operation looks for a field: both contracts decide whether it may pass unchanged.

const text = { type: 'string' };
const [drink, cocktail] = [object({ name: text }), object({ title: text })];
const nullable = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });

interface Bodies {
  readonly v1: Schema;
  readonly v2: Schema;
  /** From v1 to v2. */
  readonly request: readonly Schema[];
  /** From v2 to v1. */
  readonly response: readonly Schema[];
}

/** `POST /drinks`, whose request and response have the same schema. */
async function load({ v1, v2, request, response }: Bodies): Promise<ConfigResult> {
  const contract = (path: string, schema: Schema): string => {
    const body = { content: { 'application/json': { schema } } };
    const post = { requestBody: { required: true, ...body }, responses: { '200': { description: '', ...body } } };
    return JSON.stringify({ openapi: '3.1.0', info: { title: 'd', version: '1' }, paths: { [path]: { post } } });
  };
  const row = { to: 'POST /cocktails', request: { body: request }, response: { 200: response } };
  const adapter = { from: '/v2', routes: { 'POST /drinks': row } };
  const routes = {
    '/v1': { upstream: 'http://127.0.0.1:3001', contract: 'v1.yaml', adapter },
    '/v2': { upstream: 'http://127.0.0.1:3002', contract: 'v2.yaml' },
  };
  return loadFixture({
    routes: JSON.stringify({ routes }),
    v1: contract('/drinks', v1),
    v2: contract('/cocktails', v2),
  });
}

const rename = { request: [{ rename: { name: 'title' } }], response: [{ rename: { title: 'name' } }] };
const within = (operations: readonly Schema[], kind: 'drink' | ''): readonly Schema[] => [
  { each: { [kind]: operations } },
];
const renameItems = { request: within(rename.request, ''), response: within(rename.response, '') };
const renameInner = {
  request: [{ rename: { '/drink/name': 'title' } }],
  response: [{ rename: { '/drink/title': 'name' } }],
};
const alternatives = (item: Schema): Schema => ({ anyOf: [item, { type: 'string', enum: ['none'] }] });

/** From each body of a client or a backend to what becomes of it: another body, `same`, or the pointer to the refused value. */
type Outcomes = Readonly<Record<string, string>>;

it.each<[string, Bodies, Outcomes]>([
  [
    'an object',
    { v1: drink, v2: cocktail, ...rename },
    {
      '{"name":"a"}': '{"title":"a"}',
      '{}': 'same',
      '[1]': '#',
      '[{"name":"a"}]': '#',
      '[]': '#',
      '"a"': '#',
      '7': '#',
      '7.50': '#',
      true: '#',
      null: '#',
    },
  ],
  [
    'an object or null',
    { v1: nullable(drink), v2: nullable(cocktail), ...rename },
    { '{"name":"a"}': '{"title":"a"}', null: 'same', '[1]': '#', '1': '#' },
  ],
  [
    'an object or a text',
    { v1: alternatives(drink), v2: alternatives(cocktail), ...rename },
    { '{"name":"a"}': '{"title":"a"}', '"none"': 'same', '[1]': '#', '1': '#', null: '#' },
  ],
  [
    'a list of objects',
    { v1: { type: 'array', items: drink }, v2: { type: 'array', items: cocktail }, ...renameItems },
    { '[{"name":"a"},{}]': '[{"title":"a"},{}]', '[]': 'same', '[1]': '#/0', '[{},[]]': '#/1', '[null]': 'same' },
  ],
  [
    'an object within an object',
    { v1: object({ drink }), v2: object({ drink: cocktail }), ...renameInner },
    { '{"drink":{"name":"a"}}': '{"drink":{"title":"a"}}', '{"drink":[1]}': '#/drink', '{"drink":1}': '#/drink' },
  ],
  [
    'an object within an object, or null',
    { v1: object({ drink: nullable(drink) }), v2: object({ drink: nullable(cocktail) }), ...renameInner },
    { '{"drink":null}': 'same', '{}': 'same', '{"drink":"a"}': '#/drink', '[1]': '#' },
  ],
])('where the contracts have %s', async (_what, bodies, outcomes) => {
  const { snapshot, faults } = await load(bodies);
  expect(faults.map(formatFault)).toEqual([]);
  const settings = snapshot?.versions.get('v1')?.adapter;
  if (!settings) throw new Error('no adapter');
  const adapter = new CompiledAdapter({ settings, hash: '', templates: [] });
  const route = adapter.find('POST', '/drinks') as CompiledRoute;
  for (const [body, expected] of Object.entries(outcomes)) {
    expect([body, requestOutcome(route, body)]).toEqual([body, expected === 'same' ? body : expected]);
    const received = body.replaceAll('name', 'title');
    const response = adaptResponse(adapter, route, {
      status: 200,
      contentType: 'application/json',
      body: Buffer.from(received),
    });
    const outcome = Buffer.isBuffer(response) ? response.toString() : `#${response.pointer}`;
    const sent = expected === 'same' ? received : expected.replaceAll('title', 'name');
    expect([received, outcome]).toEqual([received, sent]);
  }
});

function requestOutcome({ transformRequestBody }: CompiledRoute, body: string): string {
  try {
    return JSON.stringify(transformRequestBody?.(JSON.parse(body)));
  } catch (error) {
    if (!(error instanceof AdaptationError)) throw error;
    return `#${error.pointer}`;
  }
}
